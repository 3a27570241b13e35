/**
 * Services of many kinds, as sellers describe them. The quality of the search is measured on these.
 *
 * @module
 */

import { MORE_SERVICES } from "./more-services.js";

/** A service: its path or the name of its tool, what it says of itself, and its parameters with their descriptions. */
export interface SampleService {
  readonly id: string;
  readonly tool?: true;
  readonly description: string;
  readonly parameters: Readonly<Record<string, string>>;
}

const http = (id: string, description: string, parameters: Record<string, string>): SampleService => ({
  id,
  description,
  parameters,
});
const tool = (id: string, description: string, parameters: Record<string, string>): SampleService => ({
  ...http(id, description, parameters),
  tool: true,
});

/** A catalog of the size that most facilitators have. */
export const FIRST_SERVICES: readonly SampleService[] = [
  http("weather/current", "Current weather conditions for a city", { city: "City name", units: "metric or imperial" }),
  http("weather/forecast", "Seven day weather forecast by coordinates", { lat: "Latitude", lon: "Longitude" }),
  http("air-quality", "Air quality index and pollutant levels for a location", { city: "City name" }),
  http("tides", "High and low tide times for a harbour", { station: "Harbour station", date: "Day" }),
  http("earthquakes", "Recent earthquakes with magnitude and epicentre", {
    since: "Start time",
    minMagnitude: "Smallest magnitude",
  }),
  http("stocks/quote", "Real time stock quotes", { symbol: "Ticker symbol" }),
  http("crypto/price", "Spot price of a cryptocurrency in dollars", { coin: "Coin symbol" }),
  http("fx/convert", "Convert an amount between currencies at the latest exchange rate", {
    from: "Currency",
    to: "Currency",
    amount: "Amount",
  }),
  http("company/filings", "Annual and quarterly reports filed by public companies", {
    cik: "Company identifier",
    form: "Form type",
  }),
  http("news/headlines", "Latest news headlines by topic", { topic: "Topic", language: "Language code" }),
  http("sports/scores", "Live football scores and fixtures", { league: "League" }),
  http("horoscope", "Daily horoscope for a zodiac sign", { sign: "Zodiac sign" }),
  http("jokes", "A random joke", { category: "Kind of joke" }),
  http("recipes", "Recipes that use given ingredients", { ingredients: "Comma separated ingredients", diet: "Diet" }),
  http("nutrition", "Calories, protein, fat and carbohydrates of a food", { food: "Name of the food" }),
  http("restaurants", "Restaurants near a place, with ratings and opening hours", {
    near: "Place",
    cuisine: "Cuisine",
  }),
  http("hotels", "Available hotel rooms and nightly rates", {
    city: "City",
    checkin: "Arrival",
    checkout: "Departure",
  }),
  http("flights/search", "Search airline flights and fares", {
    origin: "Airport",
    destination: "Airport",
    date: "Departure date",
  }),
  http("flights/status", "Delay and gate of a flight", { flight: "Flight number" }),
  http("trains", "Train timetable between two stations", { from: "Station", to: "Station" }),
  http("geocode", "Turn a street address into latitude and longitude", { address: "Street address" }),
  http("ip-location", "Country and city of an IP address", { ip: "IP address" }),
  http("routes", "Driving directions and travel time between two points", { start: "Start", end: "End" }),
  http("timezone", "Time zone and local time of a place", { place: "Place" }),
  http("parcels", "Track a parcel by its tracking number", { number: "Tracking number", carrier: "Carrier" }),
  http("translate", "Translate text from one language to another", { text: "Text", target: "Target language" }),
  http("summarize", "Summarize a long article in a few sentences", {
    url: "Address of the article",
    length: "Number of sentences",
  }),
  http("sentiment", "Detect whether a text is positive or negative", { text: "Text" }),
  http("grammar", "Correct spelling and grammar mistakes", { text: "Text" }),
  http("plagiarism", "Check a document for copied passages", { document: "Document text" }),
  http("ocr", "Extract text from a scanned image", { image: "Image" }),
  http("images/generate", "Generate an image from a text prompt", { prompt: "What the image shows", size: "Size" }),
  http("images/background", "Remove the background of a photo", { image: "Photo" }),
  http("images/upscale", "Increase the resolution of an image", { image: "Image", factor: "Scale factor" }),
  http("faces", "Detect faces in a photo and estimate age", { image: "Photo" }),
  http("speech/transcribe", "Transcribe audio recordings to text", { audio: "Recording", language: "Spoken language" }),
  http("speech/synthesize", "Read text aloud with a natural voice", { text: "Text", voice: "Voice" }),
  http("music/identify", "Recognize a song from a short recording", { audio: "Recording" }),
  http("video/captions", "Add subtitles to a video", { video: "Video", language: "Language" }),
  http("pdf/convert", "Convert web pages to PDF", { url: "Page" }),
  http("screenshots", "Take a screenshot of a website", { url: "Website", width: "Width" }),
  http("scrape", "Fetch a web page and return its content as markdown", { url: "Page" }),
  http("search/web", "Web search results with snippets", { q: "Search words" }),
  http("domains/whois", "Registration data of a domain name", { domain: "Domain" }),
  http("dns", "Look up DNS records", { name: "Host name", type: "Record type" }),
  http("email/verify", "Check whether an email address exists and can receive mail", { email: "Email address" }),
  http("sms/send", "Send a text message to a phone number", { to: "Phone number", body: "Message" }),
  http("qr", "Create a QR code", { data: "Content" }),
  http("links/shorten", "Make a short link for a long URL", { url: "Long URL" }),
  http("vulnerabilities", "Known security vulnerabilities of a software package", {
    package: "Package",
    version: "Version",
  }),
  http("malware", "Scan a file for viruses", { file: "File" }),
  http("contracts/audit", "Find security bugs in smart contract source code", { source: "Solidity source" }),
  http("wallets/balance", "Token balances of a blockchain wallet", { address: "Wallet address" }),
  http("gas", "Estimate network fees of a transaction", { chain: "Chain" }),
  http("real-estate/estimate", "Estimated market value of a house", { address: "Street address" }),
  http("jobs", "Open job postings by title and place", { title: "Job title", place: "Place" }),
  http("legal/cases", "Court decisions by keyword", { keyword: "Keyword", court: "Court" }),
  http("patents", "Search patents by inventor or subject", { subject: "Subject", inventor: "Inventor" }),
  http("papers", "Find scientific publications and their abstracts", { query: "Subject", year: "Year" }),
  http("medicine/interactions", "Interactions between medicines", { drugs: "Names of the medicines" }),
  http("symptoms", "Possible diagnoses for symptoms of a patient", { symptoms: "Symptoms", age: "Age" }),
  http("plants", "Identify a plant from a picture", { image: "Picture" }),
  http("holidays", "Public holidays of a country", { country: "Country", year: "Year" }),
  http("carbon", "Carbon footprint of a trip", { distance: "Distance", vehicle: "Vehicle" }),
  http("random", "Verifiable random numbers", { min: "Least", max: "Most" }),
  tool("execute_python", "Runs Python code in a sandbox and returns the output", { code: "Source code" }),
  tool("query_database", "Runs a read only SQL query against a sales database", { sql: "SQL statement" }),
  tool("solve_equation", "Solves mathematical equations step by step", { equation: "Equation" }),
  tool("calendar_create_event", "Creates an appointment in a calendar", {
    title: "Title",
    start: "Start time",
    end: "End time",
  }),
  tool("draw_chart", "Plots data as a bar or line chart", { data: "Numbers", kind: "Kind of chart" }),
  tool("review_code", "Reviews a pull request and suggests improvements", { diff: "Changes" }),
  tool("chess_best_move", "Suggests the best move in a chess position", { fen: "Position" }),
];

/** All services. */
export const SERVICES: readonly SampleService[] = [...FIRST_SERVICES, ...MORE_SERVICES];
