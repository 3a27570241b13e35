import { expect, test } from "vitest";
import { createIssues } from "../issues.js";
import { PLAIN_PAYWALL } from "../pricing/paywall.js";
import { parsePaywall } from "./parse-paywall.js";

function parse(given: unknown, usual = PLAIN_PAYWALL) {
  const issues = createIssues();
  const settings = parsePaywall(given, "options.paywall", usual, issues);
  let paths: readonly string[] = [];
  try {
    issues.throwIfAny();
  } catch (error) {
    paths = (error as { issues: readonly { path: string }[] }).issues.map(({ path }) => path);
  }
  return { settings, paths };
}

test("a route's settings replace the seller's, field by field, and texts one by one", () => {
  const { settings: usual } = parse({
    title: "Shop",
    logo: "/logo.svg",
    colors: { accent: "#123", text: "#000" },
    texts: { en: { pay: "Buy for {price}", paid: "Bought" } },
  });
  const { settings, paths } = parse(
    { title: "Weather", colors: { accent: "#456789" }, texts: { en: { paid: "Done" }, de: { paid: "Bezahlt" } } },
    usual,
  );
  expect(paths).toEqual([]);
  expect(settings).toEqual({
    title: "Weather",
    logo: "/logo.svg",
    colors: { accent: "#456789", text: "#000" },
    texts: { en: { pay: "Buy for {price}", paid: "Done" }, de: { paid: "Bezahlt" } },
  });
});

test.each<[given: unknown, paths: string[]]>([
  [7, [""]],
  [{ titel: "x" }, [".titel"]],
  [{ title: " " }, [".title"]],
  [{ logo: "https://cdn.example.com/logo.png" }, [".logo"]],
  [{ logo: "//cdn.example.com/logo.png" }, [".logo"]],
  [{ logo: "/\\cdn.example.com" }, [".logo"]],
  [{ logo: "data:text/html,<script>" }, [".logo"]],
  [{ logo: "javascript:alert(1)" }, [".logo"]],
  [{ colors: { accent: "red; } body { display: none", acent: "#fff" } }, [".colors.acent", ".colors.accent"]],
  [{ texts: { en: { pya: "x" } } }, [".texts.en.pya"]],
  [{ texts: { en: { pay: "Buy for {amount}" } } }, [".texts.en.pay"]],
  [{ texts: { "not a language": {}, en: { pay: "" } } }, ['.texts["not a language"]', ".texts.en.pay"]],
  [{ texts: "no" }, [".texts"]],
  [{ testnet: "yes", html: " " }, [".testnet", ".html"]],
])("%j is refused at start, each part by its path", (given, paths) => {
  expect(parse(given).paths.toSorted()).toEqual(paths.map((path) => `options.paywall${path}`).toSorted());
});
