/**
 * More services, so that 300 are listed: each as one line of its name, what the seller says, and the parameters.
 *
 * @module
 */
import type { SampleService } from "./services.js";

const LINES = `
pollen | Pollen counts for grass, birch and ragweed | city, day
uv-index | Ultraviolet index by hour, with advice on sun protection | lat, lon
snow/report | Snow depth, open lifts and slope conditions of ski resorts | resort
marine/waves | Wave height, swell period and wind for surfers and sailors | spot, hours
hurricanes | Tracks and wind speeds of active tropical storms | basin
river-levels | Water level and flood alert stage of rivers | gauge
sun | Sunrise, sunset and twilight for any place and date | lat, lon, date
moon | Phase of the moon and time of moonrise | date
iss | When the International Space Station passes overhead | lat, lon
asteroids | Near earth objects with size, speed and miss distance | from, to
climate/history | Monthly temperature and rainfall averages since 1950 | station, month
soil | Soil type, moisture and pH of a field | lat, lon
wildfires | Active fire detections from satellites in the last 24 hours | bbox
lightning | Lightning strikes within a radius over the last hour | lat, lon, radius
options/chain | Option chain with greeks and implied volatility for a US equity | underlying, expiry
bonds/yields | Government bond yields by country and maturity | country, maturity
dividends | Ex-dates and amounts of dividends paid by a stock | symbol
insider-trades | Purchases and sales by company insiders from SEC form 4 | symbol, days
earnings/calendar | Dates of upcoming quarterly earnings announcements | from, to
commodities | Spot prices of gold, silver, oil and wheat | commodity
mortgage | Monthly payment and interest of a home loan | principal, rate, years
tax/vat | Value added tax rates and validation of VAT numbers | country, number
tax/income | Estimate income tax owed by a person | country, income, status
inflation | Consumer price index and yearly inflation by country | country, year
central-bank | Policy interest rates and dates of the next decision | bank
credit/score | Credit score and risk class of a business | registration
iban | Check an IBAN and tell the bank behind it | iban
card/bin | Issuer, type and country of a payment card by its first digits | bin
invoice/parse | Read supplier, line items and totals from an invoice PDF | file
receipts/categorize | Sort business expenses into bookkeeping categories | receipt
payroll | Net salary from gross pay with social contributions | gross, country
company/registry | Directors, shareholders and legal form of a company | name, country
sanctions | Screen a person or firm against sanction and PEP lists | name, birthdate
startup/funding | Funding rounds and investors of startups | company
crypto/history | Candles (open, high, low, close) for a trading pair | pair, interval
crypto/sentiment | Fear and greed index of the crypto market | days
crypto/news | Headlines about digital assets with a bullish or bearish tag | coin
defi/yields | Best lending and staking yields across protocols | chain, token
defi/tvl | Total value locked in DeFi protocols | protocol
swap/quote | Best swap route and price impact across decentralized exchanges | tokenIn, tokenOut, amount
bridge/routes | Cheapest route to move tokens from one chain to another | fromChain, toChain, token
nft/floor | Floor price and volume of an NFT collection | collection
nft/metadata | Image and traits of a token id | contract, tokenId
ens | Resolve ENS names to addresses and back | name
token/holders | Largest holders of a token and their share | token, chain
token/security | Honeypot, mint authority and rug pull checks of a token | token, chain
tx/decode | Explain a raw transaction in plain language | hash, chain
tx/simulate | Simulate a transaction before signing and show balance changes | from, to, data
whales | Large transfers on chain in the last hour | minUsd
airdrops | Unclaimed airdrops of an address | address
mempool | Pending bitcoin transactions and recommended sat per byte | 
validators | Uptime, commission and stake of Solana validators | voteAccount
solana/priority-fees | Recommended priority fee levels for Solana programs | account
polymarket | Odds of prediction markets | event
sports/odds | Bookmaker odds for upcoming matches | sport, region
sports/standings | League tables and points | league, season
sports/players | Career statistics of basketball players | player
f1 | Lap times, grid and results of Formula 1 races | season, round
tennis/rankings | ATP and WTA rankings | tour
chess/games | Master games that reached a position | fen
lottery | Winning numbers of national lotteries | draw
esports | Schedules and brackets of esports tournaments | game
movies | Plot, cast and ratings of a film | title, year
movies/showtimes | Cinemas that show a film tonight | film, city
tv/guide | What is on television tonight, by channel | country, channel
streaming | Which streaming service has a series or film | title, country
books | Search books by title, author or ISBN | q
books/quotes | Passages from classic literature by theme | theme
lyrics | Words of a song | artist, title
concerts | Live music near a city by genre and date | city, genre
podcasts | Find podcast episodes where a topic is discussed | topic
music/charts | Weekly top songs of a country | country
music/generate | Compose an instrumental track from a mood and tempo | mood, bpm
guitar/chords | Chords and tabs of a song | song
trivia | Quiz questions with four answers | topic, difficulty
riddles | A riddle with its solution | level
baby-names | Meaning and popularity of first names | name
dreams | What a dream could mean | dream
tarot | Draw cards and read them | spread
quotes | An inspiring quotation of the day | theme
facts | A surprising fact | topic
on-this-day | Historical events that happened on a calendar day | month, day
cocktails | Drinks that can be mixed from the bottles you have | ingredients
wine | Which wine goes with a dish | dish
allergens | Allergens and additives of a packaged product by barcode | barcode
meal-plan | A week of meals for a calorie target, with a shopping list | calories, diet
grocery/prices | Compare supermarket prices for a basket of products | products, zip
coffee | Brewing ratio, grind and water temperature for a coffee method | method
workout | A training plan for a goal and the equipment at hand | goal, equipment, days
running/route | Round trips of a given length for joggers | start, km
bmi | Body mass index and ideal weight | height, weight
sleep | Best bedtime from sleep cycles | wake
pregnancy | Due date and weekly development | lastPeriod
medicine/lookup | Leaflet, dosage and side effects of a drug | name
doctors | Find doctors by specialty and insurance | specialty, zip
hospitals/wait | Waiting times in emergency rooms | city
genes | Function and known variants of a human gene | symbol
proteins | Predicted 3D structure of an amino acid sequence | sequence
chemistry/compound | Formula, mass and hazards of a chemical | name
trials | Clinical trials that recruit patients for a condition | condition, country
first-aid | What to do in an emergency, step by step | emergency
animals/breed | Recognize the breed of a dog or cat in a picture | image
birds/sound | Name the bird that sings in a recording | audio
fish | Fishing seasons and minimum sizes by species | species, state
garden | When to sow and harvest vegetables in a climate zone | zone, vegetable
pets/adopt | Dogs and cats in shelters waiting for a home | zip, species
vets | Veterinary clinics that are open now | lat, lon
car/vin | Model, engine and recalls of a vehicle by its VIN | vin
car/value | Resale value of a used car | make, model, year, mileage
car/charging | Free charging points for electric cars, with plug and power | lat, lon, plug
fuel | Petrol and diesel prices at stations nearby | lat, lon, fuel
parking | Vacant spaces and tariffs of car parks | city
traffic | Congestion and accidents on a road | road
tolls | Road charges for a route and type of vehicle | from, to, axles
license-plate | Read number plates in a photo | image
transit | Next bus and tram departures at a stop | stop
ferries | Ferry crossings and cabin fares | from, to
bikes | Docked bicycles at sharing stations | city
airports | Security queue times and terminals of an airport | iata
flights/cheapest-days | The least expensive days of a month to fly a route | origin, destination, month
seats | Legroom and seat maps of aircraft | airline, aircraft
visa | Entry and visa rules for a passport and a destination | passport, destination
travel/safety | Government travel warnings for a country | country
travel/packing | A packing list for a trip | destination, days
attractions | Sights and museums worth seeing in a town | town
hiking | Trails with length, ascent and difficulty | region
campsites | Camping grounds with pitches and facilities | region, dates
beaches | Bathing water quality | beach
cruise | Itineraries and cabin prices of cruises | port, month
car-rental | Rental car offers at an airport | airport, from, to
rent | Average rent per square metre of a district | city, district
listings | Flats and houses for sale | city, rooms, max
interior | Redesign a room from a photo in a chosen style | image, style
solar | Yearly yield of solar panels on a roof | address, area
energy/price | Hourly electricity price on the wholesale market | zone, date
energy/mix | Share of wind, solar, coal and nuclear power in the grid | country
postal-codes | Towns and districts of a postal code | code, country
address/validate | Correct and standardize a postal address | address
elevation | Height above sea level | lat, lon
maps/static | A map image with markers | center, zoom
satellite | Recent satellite picture of an area | bbox, date
places/population | Inhabitants and area of a city or country | place
countries | Flag, capital, currency and languages of a country | code
elections | Results of elections by district | country, year
laws | Full text of statutes and regulations | jurisdiction, q
contracts/review | Point out risky clauses in an agreement | document
contracts/draft | Write a non-disclosure or freelance agreement | kind, parties
trademark | Is a brand name already registered | name, classes
privacy-policy | Generate a privacy policy for a website | company, cookies
gdpr | Find personal data in documents and redact it | text
grants | Public grants and subsidies that a project qualifies for | country, sector
tenders | Calls for public procurement bids | cpv, country
crime | Reported crimes in a neighbourhood | area, month
schools | Schools with ratings and catchment area | zip
courses | Online courses about a skill, compared by rating | skill
flashcards | Make flashcards from notes | notes
dictionary | Definition, synonyms and pronunciation of a word | word
etymology | Where a word comes from | word
rhymes | Words that rhyme | word
conjugate | All forms of a verb | verb, language
language/detect | Which language a text is written in | text
transliterate | Write Cyrillic, Greek or Arabic in Latin letters | text
names/gender | Likely gender and origin of a first name | name
readability | Reading level of a text | text
keywords | Most important terms of a text | text
classify | Sort texts into categories that you name | text, labels
embeddings | Vectors for semantic search | input
llm/chat | Answers of a large language model, billed per call | messages, model
llm/json | Turn messy text into JSON that fits a schema | text, schema
rewrite | Paraphrase a paragraph in another tone | text, tone
headline | Ten catchy titles for an article | text
product-copy | Sales descriptions for online shops | product, features
email/write | Draft a polite business email | purpose, recipient
cover-letter | A letter of application from a resume and a job ad | resume, ad
resume/parse | Name, skills and employers from a CV | file
interview | Likely interview questions for a role | role
salary | Typical pay for a job and region | title, region
linkedin/profile | Public profile of a professional | url
twitter/search | Recent posts on X about a topic | q
reddit | Top threads of a subreddit | subreddit
youtube/transcript | Transcript of a YouTube video | video
youtube/stats | Views and subscribers of a channel | channel
instagram/hashtags | Popular hashtags for a photo | image
influencers | Creators of a niche with audience figures | niche, platform
seo/keywords | Search volume and difficulty of keywords | keyword
seo/backlinks | Sites that link to a domain | domain
seo/audit | Crawl a site and list what hurts its ranking | url
web/traffic | Estimated visitors of a website | domain
web/tech | Frameworks, analytics and hosting that a site uses | url
web/uptime | Is a site reachable from several continents | url
web/archive | Earlier versions of a page | url, date
web/accessibility | Barriers for disabled visitors on a page | url
web/diff | Tell when a page has changed | url, since
rss | New items of a feed | url
ssl | Expiry and issuer of a certificate | host
ports | Open ports of a host | host
headers | Response headers and redirects of a URL | url
ip/reputation | Is an IP address a proxy, VPN or known attacker | ip
email/breach | Leaks that an email address appears in | email
phone/lookup | Carrier, line type and region of a phone number | number
password | Strength of a password and whether it has leaked | hash
phishing | Is a link a scam | url
captcha | Solve image captchas | image
secrets | Find API keys and tokens left in source code | repo
licenses | Open source licenses of a project's dependencies | manifest
regex | Explain a regular expression or write one | text
json/convert | Convert between JSON, YAML, XML and CSV | data, to
code/translate | Port a function from one programming language to another | code, to
code/tests | Write unit tests for a function | code
code/explain | Say what a piece of code does | code
sql/generate | Write a SQL statement from a question | question, schema
diagram | Flow charts and sequence diagrams from text | text
uuid | Unique identifiers | count
hash | SHA-256 and other digests | data
cron | When a cron expression runs next | expression
units | Convert units such as miles, pounds and Fahrenheit | value, from, to
calculator | Evaluate an arithmetic expression exactly | expression
statistics | Mean, median and regression of a data set | numbers
forecast/series | Predict how a time series goes on | values, horizon
fonts | Which typeface is in an image | image
colors | Palettes that go together | base
logo | Company logo by domain | domain
icons | Vector icons by keyword | q
images/stock | Licensed stock photos | q
images/describe | Alt text for a picture | image
images/compress | Make a picture file smaller | image, quality
images/restore | Repair old scratched photographs and add colour | image
images/nsfw | Is a picture safe for work | image
images/reverse | Where else a picture appears on the web | image
video/generate | A short clip from a description | prompt
video/download | Save a video as MP4 | url
video/summarize | Chapters and key moments of a video | url
audio/clean | Remove noise and echo from a recording | audio
audio/split | Separate vocals and instruments | audio
voice/clone | Speak with a given person's voice | sample, text
avatar | A talking head that says your script | photo, script
3d/model | Printable 3D object from a sketch | image
print/postcard | Print a picture and mail it as a postcard | image, address
fax | Send a document by fax | file, number
call | Place a phone call in which an agent talks for you | number, task
flowers | Deliver a bouquet | address, date
gift-cards | Codes for shops, by amount | shop, amount
shopping/compare | Offers of online shops for a product, lowest first | product
shopping/reviews | Summary of customer reviews of a product | product
shopping/barcode | Product behind an EAN or UPC | code
customs | Import duty and HS code of goods | goods, from, to
shipping/rates | Postage of a parcel by weight and destination | weight, from, to
ships | Position and destination of a vessel | imo
planes | Aircraft in the air around a point | lat, lon
`;

/** Each with the seller's words. */
export const MORE_SERVICES: readonly SampleService[] = LINES.trim()
  .split("\n")
  .map((line) => {
    const [id = "", description = "", names = ""] = line.split(" | ");
    return { id, description, parameters: Object.fromEntries(names.split(", ").map((name) => [name, ""])) };
  });
