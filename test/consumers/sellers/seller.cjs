// A seller who writes CommonJS: Node loads Farebox's modules through require(). Otherwise as seller.mjs.
const { paymentMiddleware } = require("@farebox/express");
const express = require("express");

const routes = {
  "GET /weather": {
    accepts: {
      scheme: "exact",
      price: "$0.001",
      network: "eip155:84532",
      payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    },
  },
};

const app = express();
app.use(paymentMiddleware(routes, { facilitator: process.env.FACILITATOR_URL }));
app.get("/weather", (_req, res) => res.json({ report: "sunny" }));

const server = app.listen(0, "127.0.0.1", async () => {
  const response = await fetch(`http://127.0.0.1:${server.address().port}/weather`);
  console.log(JSON.stringify({ status: response.status, challenge: response.headers.get("PAYMENT-REQUIRED") }));
  server.close();
});
