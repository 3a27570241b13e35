import { ConfigError } from "@farebox/core";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeStore } from "../store-conformance.fixture.js";
import { createPostgresCatalogStore } from "./postgres-store.js";
import { type PostgresServer, startPostgres } from "./server.fixture.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

describeStore("a store in PostgreSQL", async () => {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query("DROP TABLE IF EXISTS farebox_entries, farebox_facets, farebox_terms");
  await client.end();
  return createPostgresCatalogStore({ url: server.url, statementTimeoutMs: 60_000 });
});

describe("stores of one database", () => {
  test("stores that start together create the tables once, and see each other's entries", async () => {
    const stores = Array.from({ length: 4 }, () =>
      createPostgresCatalogStore({ url: server.url, maxConnections: 2, statementTimeoutMs: 60_000 }),
    );
    const texts = { name: "weather", description: "", parameters: "", other: "" };
    await Promise.all(
      stores.map((store, at) =>
        store.update({ resource: `https://b.example/${at}`, toolName: "" }, () => {
          return {
            service: "{}",
            updatedMs: 1,
            texts,
            terms: ["weather", `w${at}`],
            facets: [808],
            vector: new Int8Array(100),
            price: "~",
          };
        }),
      ),
    );
    expect(await Promise.all(stores.map((store) => store.count([808])))).toEqual([4, 4, 4, 4]);
    await Promise.all(stores.map((store) => store.close()));
  });
});

test("a table of the first version is read, and has the later columns then", async () => {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query(`
    DROP TABLE IF EXISTS farebox_entries, farebox_facets, farebox_terms;
    CREATE TABLE farebox_entries (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key bytea NOT NULL UNIQUE, service text NOT NULL,
      updated bigint NOT NULL, digest bytea NOT NULL, written xid8 NOT NULL, terms text NOT NULL, facets bigint[] NOT NULL,
      vector bytea NOT NULL, texts tsvector NOT NULL
    );
    INSERT INTO farebox_entries (key, service, updated, digest, written, terms, facets, vector, texts)
    VALUES ('', '{}', 7, '', pg_current_xact_id(), 'weather', '{1}', '', '');`);
  await client.end();
  const store = createPostgresCatalogStore({ url: server.url, statementTimeoutMs: 60_000 });
  expect(await store.find([1], [])).toEqual([{ id: 1, service: "{}", updatedMs: 7, price: "~" }]);
  await store.close();
});

test("calls reject while the database cannot be reached", async () => {
  const store = createPostgresCatalogStore({ url: "postgres://user:secret@127.0.0.1:1/none" });
  await expect(store.count([1])).rejects.toBeInstanceOf(Error);
  await expect(store.count([1])).rejects.toBeInstanceOf(Error);
  await store.close();
});

test("wrong options are refused, without the password", () => {
  const wrong = { url: "mysql://u:secret@h/d", maxConnections: 0, statementTimeoutMs: "1s", more: 1 };
  expect(() => createPostgresCatalogStore(wrong as never)).toThrow(ConfigError);
  expect(() => createPostgresCatalogStore(wrong as never)).not.toThrow(/secret/);
});
