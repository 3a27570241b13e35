import fc from "fast-check";
import { expect, test } from "vitest";
import { chooseTexts, ENGLISH } from "./paywall-texts.js";

const TRANSLATIONS = { de: { pay: "{price} bezahlen" }, "pt-BR": { pay: "Pagar {price}" }, ar: { pay: "{price}" } };

test.each([
  [undefined, "en", "ltr"],
  ["", "en", "ltr"],
  ["de-AT,de;q=0.9,en;q=0.8", "de", "ltr"],
  ["fr, pt-br;q=0.7, de;q=0.5", "pt-BR", "ltr"],
  ["en-GB,de;q=0.9", "en", "ltr"],
  ["de;q=0, ar", "ar", "rtl"],
  ["*", "en", "ltr"],
  ["__proto__, constructor", "en", "ltr"],
])("Accept-Language %j chooses %s", (header, language, direction) => {
  expect(chooseTexts(TRANSLATIONS, header)).toMatchObject({ language, direction });
});

test("a text that is missing in a translation is the seller's English, or that of Farebox", () => {
  const { texts } = chooseTexts({ ...TRANSLATIONS, en: { paid: "Bought" } }, "de");
  expect([texts.pay, texts.paid, texts.receipt]).toEqual(["{price} bezahlen", "Bought", ENGLISH.receipt]);
});

test("any header chooses a language that there is", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (header) => {
      expect(["en", "de", "pt-BR", "ar"]).toContain(chooseTexts(TRANSLATIONS, header).language);
    }),
  );
});
