/**
 * The scripts. Redis runs each as a whole, so that each operation is atomic.
 *
 * A record is a hash. Its fields are the constants of `record-fields.ts`. The key of an identifier, and that of a transaction, hold the identity of its payment. All
 * keys have one hash tag, so they lie on one node of a cluster.
 *
 * @module
 */
import { MOST_DUE, RELEASABLE, UNFINISHED, UNLEASED } from "@farebox/core";
import { GRACE_MS } from "../row.js";
import { RECORD } from "./ledger-scripts.js";
import { type Script, script } from "./script.js";

/** Lua's numbers would be written as `1.7e+12`. Never sooner than the grace from now: the clock of the server may be ahead. */
const FORGET_AT = `
local function forgetAt(expiresAtMs)
  local time = redis.call('TIME')
  local nowMs = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  return string.format('%.0f', math.max(tonumber(expiresAtMs), nowMs) + ${GRACE_MS})
end`;

/** A user of the server may lack the right to publish; the watchers then look by themselves. */
const PUBLISH = `
local function publish(channel)
  redis.pcall('PUBLISH', channel, '1')
end`;

const STATES = `
local UNFINISHED = { ${setOf(UNFINISHED)} }
local RELEASABLE = { ${setOf(RELEASABLE)} }
local UNLEASED = { ${setOf(UNLEASED)} }`;

/** Delivered responses that are kept count as older than the others. In microseconds: exact in a score of 53 bits. */
const DELIVERED_US = "5000000000000000";

/** Responses that are dropped in one call, and those of records that Redis has forgotten: a longer script would hold up other clients. */
const DROPPED_AT_ONCE = 1_000;

/**
 * The bound of kept responses. `sizes` has the size of each by identity, and their sum in a field without a name; `order` says which is
 * older, and `ends` when Redis forgets its record.
 */
function keptAt(first: number): string {
  return `
local order, ends, sizes, records = KEYS[${first}], KEYS[${first + 1}], KEYS[${first + 2}], KEYS[${first + 3}]
local function uncount(identity)
  local size = redis.call('HGET', sizes, identity)
  if not size then return end
  redis.call('ZREM', order, identity)
  redis.call('ZREM', ends, identity)
  redis.call('HDEL', sizes, identity)
  if redis.call('HINCRBY', sizes, '', string.format('%.0f', 0 - tonumber(size))) == 0 and redis.call('HLEN', sizes) == 1 then redis.call('DEL', sizes) end
end`;
}

/** With {@link keptAt}: counts a response, and drops the oldest ones above the bound. */
const COUNT_KEPT = `
local function nowUs()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local function keepUntil(identity, at)
  if redis.call('HEXISTS', sizes, identity) == 1 then redis.call('ZADD', ends, at, identity) end
end
local function count(identity, size)
  uncount(identity)
  if size == 'none' then return end
  redis.call('HSET', sizes, identity, size)
  redis.call('HINCRBY', sizes, '', size)
  redis.call('ZADD', order, string.format('%.0f', nowUs()), identity)
end
local function deliver(identity)
  local at = tonumber(redis.call('ZSCORE', order, identity) or '-1')
  if at > 0 then redis.call('ZADD', order, string.format('%.0f', at - ${DELIVERED_US}), identity) end
end
local function dropOldest(most)
  local nowMs = string.format('%.0f', math.floor(nowUs() / 1000))
  for _, identity in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', nowMs, 'LIMIT', '0', '${DROPPED_AT_ONCE}')) do uncount(identity) end
  for _ = 1, ${DROPPED_AT_ONCE} do
    if tonumber(redis.call('HGET', sizes, '') or '0') <= tonumber(most) then return end
    local oldest = redis.call('ZRANGE', order, '0', '0')[1]
    if not oldest then return end
    redis.call('HDEL', records .. oldest, 'h', 'y')
    uncount(oldest)
  end
end`;

/** KEYS: record. Returns its fields and values. */
export const FIND: Script = script(`return redis.call('HGETALL', KEYS[1])`);

/** KEYS: record, key of its identifier or none. ARGV: identity, expiry, then fields and values. Returns a word, or the record that is there. */
export const CLAIM: Script = script(`${FORGET_AT}
local found = redis.call('HGETALL', KEYS[1])
if #found > 0 then return found end
if KEYS[2] and redis.call('EXISTS', KEYS[2]) == 1 then return 'identifier_taken' end
local at = forgetAt(ARGV[2])
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('PEXPIREAT', KEYS[1], at)
if KEYS[2] then
  redis.call('SET', KEYS[2], ARGV[1])
  redis.call('PEXPIREAT', KEYS[2], at)
end
return 'claimed'`);

/**
 * KEYS: record, index of unfinished ones, beginning of the keys of identifiers, then those of the ledger, then those of kept responses and
 * the beginning of the keys of records, then that of a transaction or none.
 * ARGV: identity, channel, from, owner, to, id, JSON and time of an entry, size of the response or `none` or an empty text, 1 if it is
 * delivered, room for all of them, number of values to write, fields and values to write, fields to remove. Returns 1 or 0.
 */
export const TRANSITION: Script = script(`${FORGET_AT}${PUBLISH}${STATES}${RECORD}${keptAt(8)}${COUNT_KEPT}
local old = redis.call('HMGET', KEYS[1], 's', 'o', 'e', 'i')
if old[1] ~= ARGV[3] or old[2] ~= ARGV[4] then return 0 end
if KEYS[12] then
  local paid = redis.call('GET', KEYS[12])
  if paid and paid ~= ARGV[1] then return 0 end
  redis.call('SET', KEYS[12], ARGV[1])
  redis.call('PEXPIREAT', KEYS[12], forgetAt(old[3]))
end
local written = tonumber(ARGV[12])
redis.call('HSET', KEYS[1], 's', ARGV[5], unpack(ARGV, 13, 12 + written))
local identifierKey = old[4] and (KEYS[3] .. old[4])
if #ARGV > 12 + written then
  redis.call('HDEL', KEYS[1], unpack(ARGV, 13 + written))
  if identifierKey and redis.call('HEXISTS', KEYS[1], 'i') == 0 then
    if redis.call('GET', identifierKey) == ARGV[1] then redis.call('DEL', identifierKey) end
    identifierKey = nil
  end
end
if ARGV[9] ~= '' then count(ARGV[1], ARGV[9]) end
if ARGV[10] == '1' then deliver(ARGV[1]) end
if UNFINISHED[ARGV[5]] then
  keepUntil(ARGV[1], '+inf')
  redis.call('PERSIST', KEYS[1])
  if identifierKey then redis.call('PERSIST', identifierKey) end
  redis.call('ZADD', KEYS[2], 0, ARGV[1])
elseif UNFINISHED[ARGV[3]] then
  local at = forgetAt(old[3])
  keepUntil(ARGV[1], at)
  redis.call('PEXPIREAT', KEYS[1], at)
  if identifierKey then redis.call('PEXPIREAT', identifierKey, at) end
  redis.call('ZREM', KEYS[2], ARGV[1])
elseif ARGV[9] ~= '' then
  -- Its time was set when it ended.
  keepUntil(ARGV[1], string.format('%.0f', math.floor(nowUs() / 1000) + redis.call('PTTL', KEYS[1])))
end
if ARGV[9] ~= '' then dropOldest(ARGV[11]) end
record(ARGV[6], ARGV[7], ARGV[8])
publish(ARGV[2])
return 1`);

/**
 * KEYS: record, index of unfinished ones, beginning of the keys of identifiers, then those of kept responses and the beginning of the keys of
 * records. ARGV: identity, channel, owner.
 */
export const RELEASE: Script = script(`${PUBLISH}${STATES}${keptAt(4)}
local old = redis.call('HMGET', KEYS[1], 's', 'o', 'i')
if not old[1] or not RELEASABLE[old[1]] or old[2] ~= ARGV[3] then return 0 end
redis.call('DEL', KEYS[1])
uncount(ARGV[1])
if UNFINISHED[old[1]] then redis.call('ZREM', KEYS[2], ARGV[1]) end
if old[3] and redis.call('GET', KEYS[3] .. old[3]) == ARGV[1] then redis.call('DEL', KEYS[3] .. old[3]) end
publish(ARGV[2])
return 1`);

/** KEYS: index. ARGV: range after which to go on, count. Returns identities in order. */
export const LIST_UNFINISHED: Script = script(
  `return redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], '+', 'LIMIT', '0', ARGV[2])`,
);

/** KEYS: records. ARGV: lease, then the owner of each. */
export const RENEW: Script = script(`${STATES}
for at, key in ipairs(KEYS) do
  local old = redis.call('HMGET', key, 's', 'o')
  if old[2] == ARGV[at + 1] and not UNLEASED[old[1]] then
    redis.call('HSET', key, 'l', ARGV[1])
  end
end
return 1`);

/** KEYS: runs of a payer, by id, as \`until|JSON\`. ARGV: now, id, until, JSON. Returns the JSON of each run. */
export const PUT_RUN: Script = script(`${FORGET_AT}
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3] .. '|' .. ARGV[4])
local all = redis.call('HGETALL', KEYS[1])
local nowMs, latest, runs = tonumber(ARGV[1]), 0, {}
for at = 1, #all, 2 do
  local bar = string.find(all[at + 1], '|', 1, true)
  local untilMs = tonumber(string.sub(all[at + 1], 1, bar - 1))
  if untilMs <= nowMs then
    redis.call('HDEL', KEYS[1], all[at])
  else
    latest = math.max(latest, untilMs)
    runs[#runs + 1] = string.sub(all[at + 1], bar + 1)
  end
end
redis.call('PEXPIREAT', KEYS[1], forgetAt(latest))
return runs`);

/** KEYS: runs of a payer. ARGV: id. */
export const REMOVE_RUN: Script = script(`return redis.call('HDEL', KEYS[1], ARGV[1])`);

/** Entries that end and are removed in one call: a longer script would hold up other clients. */
const ENDED_AT_ONCE = 1_000;

/**
 * Sums are kept in two parts, above and below a thousand dollars, because Lua and Redis count in 53 and 64 bits. A sum of nothing has no
 * field.
 *
 * KEYS: entries by identity as \`high|low|payer\`, their ends, sums, and what payers owe as \`payer identity\`.
 */
const EXPOSURE = `
local entries, ends, sums, due = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local function add(name, parts)
  for field, part in pairs(parts) do
    if part ~= 0 and redis.call('HINCRBY', sums, field .. name, string.format('%.0f', part)) == 0 then
      redis.call('HDEL', sums, field .. name)
    end
  end
end
local function removeEntry(identity)
  local entry = redis.call('HGET', entries, identity)
  if not entry then return end
  local high, low, payer = string.match(entry, '^(%d+)|(%d+)|(.*)$')
  redis.call('HDEL', entries, identity)
  redis.call('ZREM', ends, identity)
  redis.call('ZREM', due, payer .. identity)
  local less = { h = -tonumber(high), l = -tonumber(low) }
  add('', less)
  add(payer, less)
end`;

/**
 * KEYS: see above. ARGV: now, identity, payer behind its length, high and low part, end, 1 if it is due. Returns both parts of the payer's
 * sum and of the sum of all, then what the payer owes. Returns nothing if more entries have ended than one call removes.
 */
export const PUT_EXPOSURE: Script = script(`${FORGET_AT}${EXPOSURE}
local ended = redis.call('ZRANGEBYSCORE', ends, '-inf', ARGV[1], 'LIMIT', '0', '${ENDED_AT_ONCE}')
for _, identity in ipairs(ended) do removeEntry(identity) end
if #ended == ${ENDED_AT_ONCE} then return {} end
local identity, payer, high, low, untilMs = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
removeEntry(identity)
if tonumber(untilMs) > tonumber(ARGV[1]) then
  redis.call('HSET', entries, identity, high .. '|' .. low .. '|' .. payer)
  redis.call('ZADD', ends, untilMs, identity)
  if ARGV[7] == '1' then redis.call('ZADD', due, 0, payer .. identity) end
  local more = { h = tonumber(high), l = tonumber(low) }
  add('', more)
  add(payer, more)
end
local last = redis.call('ZREVRANGE', ends, '0', '0', 'WITHSCORES')
if last[2] then
  local at = forgetAt(last[2])
  for _, key in ipairs(KEYS) do redis.call('PEXPIREAT', key, at) end
end
local reply = redis.call('HMGET', sums, 'h' .. payer, 'l' .. payer, 'h', 'l')
for at = 1, 4 do reply[at] = reply[at] or '0' end
local range = { '[' .. payer, '(' .. payer .. '\\255' }
for _, member in ipairs(redis.call('ZRANGEBYLEX', due, range[1], range[2], 'LIMIT', '0', '${MOST_DUE}')) do
  reply[#reply + 1] = string.sub(member, #payer + 1)
end
return reply`);

/** KEYS: see above. ARGV: identity. */
export const REMOVE_EXPOSURE: Script = script(`${EXPOSURE}
removeEntry(ARGV[1])
return 1`);

/** KEYS: name. ARGV: value. Returns the value that is kept. */
export const KEEP: Script = script(`redis.call('SETNX', KEYS[1], ARGV[1])
return redis.call('GET', KEYS[1])`);

/** States as the entries of a table. */
function setOf(states: readonly string[]): string {
  return states.map((state) => `${state} = true`).join(", ");
}
