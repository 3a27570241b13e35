/**
 * Questions in a buyer's own words, written before the encoder was built in, and sentences that no service fits. The weights,
 * the means and the least scores were chosen with the first list and with the first half of the last one; nothing was chosen with the
 * others.
 *
 * @module
 */

/** A question, and the id of the expected service. */
export const UNSEEN: readonly (readonly [query: string, expected: string])[] = [
  ["do I need an umbrella in Lisbon today", "weather/current"],
  ["can we have a barbecue outside on Saturday", "weather/forecast"],
  ["is it safe to go jogging in Delhi with my asthma", "air-quality"],
  ["what time is low water so I can launch my boat", "tides"],
  ["was that a tremor I just felt", "earthquakes"],
  ["how are Tesla shares doing", "stocks/quote"],
  ["what would I get if I sold my ether", "crypto/price"],
  ["how much is 50 quid in dollars", "fx/convert"],
  ["show me Apple's 10-K", "company/filings"],
  ["did Arsenal beat Chelsea last night", "sports/scores"],
  ["I have chicken and rice, what's for dinner", "recipes"],
  ["is avocado fattening", "nutrition"],
  ["I'm hungry, good ramen around here", "restaurants"],
  ["need a bed in Vienna for the weekend", "hotels"],
  ["flying to Tokyo in May, what would it cost", "flights/search"],
  ["has BA117 landed yet", "flights/status"],
  ["when does the next one leave from Paris to Lyon by rail", "trains"],
  ["my order from the shop has not arrived yet", "parcels"],
  ["is it too late to call my friend in Sydney", "timezone"],
  ["what does this Japanese letter say in English", "translate"],
  ["I don't have time to read this whole thing", "summarize"],
  ["are people angry about our new product", "sentiment"],
  ["type out what is written on this photographed page", "ocr"],
  ["make me a logo of a fox", "images/generate"],
  ["I want my product shot on plain white", "images/background"],
  ["write down what was said in this meeting recording", "speech/transcribe"],
  ["which song is playing in this bar", "music/identify"],
  ["grab the text of a webpage for my bot", "scrape"],
  ["who is behind this website", "domains/whois"],
  ["will my message to this address bounce", "email/verify"],
  ["text my customer that the order is ready", "sms/send"],
  ["this web address is too long to tweet", "links/shorten"],
  ["is log4j 2.14 safe to use", "vulnerabilities"],
  ["how much USDC does vitalik hold", "wallets/balance"],
  ["is it expensive to send ETH right now", "gas"],
  ["what could I sell my flat for", "real-estate/estimate"],
  ["who is hiring plumbers in Leeds", "jobs"],
  ["my stomach hurts and I feel dizzy, what could it be", "symptoms"],
  ["can I mix these two pills", "medicine/interactions"],
  ["is Monday a day off in Spain", "holidays"],
];

/** Misspelt questions. */
export const MISSPELT: readonly (readonly [query: string, expected: string])[] = [
  ["earthquaks recentley", "earthquakes"],
  ["currancy exchnage rate", "fx/convert"],
  ["restarants near me", "restaurants"],
  ["horoscop for leo", "horoscope"],
  ["trian timetabel", "trains"],
  ["transcibe audoi recording", "speech/transcribe"],
  ["vulnerabilites in a pakage", "vulnerabilities"],
  ["plagarism chek", "plagiarism"],
  ["sceenshot of a webiste", "screenshots"],
  ["publik hollidays", "holidays"],
];

/** Questions in other languages: ten each in German, Spanish and Chinese. */
export const FOREIGN: Readonly<Record<string, readonly (readonly [query: string, expected: string])[]>> = {
  German: [
    ["wie wird das Wetter morgen in Hamburg", "weather/forecast"],
    ["übersetze diesen Text ins Englische", "translate"],
    ["wo ist mein Paket", "parcels"],
    ["wann fährt der nächste Zug nach Köln", "trains"],
    ["günstige Flüge nach Rom", "flights/search"],
    ["Hotel in Berlin für zwei Nächte", "hotels"],
    ["aktueller Bitcoin Kurs", "crypto/price"],
    ["Rezept mit Eiern und Tomaten", "recipes"],
    ["erkenne das Lied", "music/identify"],
    ["erzähl mir einen Witz", "jokes"],
  ],
  Spanish: [
    ["qué tiempo hará mañana en Madrid", "weather/forecast"],
    ["traducir este texto al inglés", "translate"],
    ["dónde está mi paquete", "parcels"],
    ["horario de trenes de Madrid a Sevilla", "trains"],
    ["vuelos baratos a Roma", "flights/search"],
    ["hotel en Barcelona para dos noches", "hotels"],
    ["precio del bitcoin", "crypto/price"],
    ["recetas con huevos y tomates", "recipes"],
    ["qué canción está sonando", "music/identify"],
    ["cuéntame un chiste", "jokes"],
  ],
  Chinese: [
    ["明天北京天气怎么样", "weather/forecast"],
    ["把这段文字翻译成英文", "translate"],
    ["我的包裹在哪里", "parcels"],
    ["从北京到上海的火车时刻表", "trains"],
    ["去罗马的便宜机票", "flights/search"],
    ["上海的酒店", "hotels"],
    ["比特币价格", "crypto/price"],
    ["用鸡蛋和西红柿做什么菜", "recipes"],
    ["这是什么歌", "music/identify"],
    ["讲个笑话", "jokes"],
  ],
};

/** Sentences that no service fits. The least scores were chosen with the first half. */
export const NONSENSE: readonly string[] = [
  "asdf qwer zxcv",
  "blah blah blah",
  "flibber jabberwock snark",
  "xkcd1234 foobar",
  "colorless green ideas sleep furiously",
  "my grandmother collects porcelain elephants",
  "lorem ipsum dolor sit amet",
  "kjhgfdsa",
  "the philosophy of Immanuel Kant",
  "how to knit a sweater",
  "the purple staircase forgot its birthday",
  "wobble gronk fleeb",
  "qqqq wwww eeee",
  "zzzz",
  "who painted the Mona Lisa",
  "the meaning of friendship",
  "teach my dog to sit",
  "hjkl uiop vbnm",
  "consectetur adipiscing elit",
  "slithy toves gyre and gimble",
];
