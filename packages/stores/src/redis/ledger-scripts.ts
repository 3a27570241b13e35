/**
 * The scripts of the ledger in Redis.
 *
 * Entries are texts of JSON in a hash, by id. One sorted set has their positions, another one their times. Refunds are in a hash of their
 * own, as `count|status|JSON`.
 *
 * @module
 */
import { type Script, script } from "./script.js";

/** Entries that are deleted in one call: a longer script would hold up other clients. */
const SWEPT_AT_ONCE = 500;

/**
 * Adds an entry, unless there is one with its id. For a script with KEYS 4 to 7: entries, positions, times, and the last position.
 */
export const RECORD = `
local function record(id, json, atMs)
  if id == '' or redis.call('HSETNX', KEYS[4], id, json) == 0 then return end
  redis.call('ZADD', KEYS[5], redis.call('INCR', KEYS[7]), id)
  redis.call('ZADD', KEYS[6], atMs, id)
end`;

/** KEYS: entries, positions, refunds. ARGV: position, count. Returns id, position, entry and refunds by turns. */
export const LIST_ENTRIES: Script = script(`
local found = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', '0', ARGV[2])
local reply = {}
for at = 1, #found, 2 do
  local id = found[at]
  reply[#reply + 1] = string.format('%.0f', tonumber(found[at + 1]))
  reply[#reply + 1] = redis.call('HGET', KEYS[1], id) or ''
  reply[#reply + 1] = redis.call('HGET', KEYS[3], id) or ''
end
return reply`);

/** KEYS: entries, positions, refunds. ARGV: id. Returns what {@link LIST_ENTRIES} returns for one. */
export const FIND_ENTRY: Script = script(`
local position = redis.call('ZSCORE', KEYS[2], ARGV[1])
if not position then return {} end
return {
  string.format('%.0f', tonumber(position)),
  redis.call('HGET', KEYS[1], ARGV[1]) or '',
  redis.call('HGET', KEYS[3], ARGV[1]) or ''
}`);

/** KEYS: entries, refunds. ARGV: id, known, new value. */
export const REFUND_ENTRY: Script = script(`
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
local old = redis.call('HGET', KEYS[2], ARGV[1]) or '0|'
if string.match(old, '^(%d+)|') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
return 1`);

/** KEYS: entries. ARGV: id, the entry as it was, the entry as it is now. */
export const REPLACE_ENTRY: Script = script(`
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1`);

/** KEYS: counts. ARGV: fields and numbers by turns. A field is the JSON of an array, and begins with the day. */
export const ADD_COUNTS: Script = script(`
for at = 1, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], ARGV[at], ARGV[at + 1]) end
return 1`);

/** KEYS: counts. Returns fields and numbers by turns. */
export const ALL_COUNTS: Script = script(`return redis.call('HGETALL', KEYS[1])`);

/** KEYS: cursor, last position. ARGV: owner, now, until, position, `start` or `now`. Returns the position, or an empty text. */
export const HOLD_CURSOR: Script = script(`
local old = redis.call('HMGET', KEYS[1], 'o', 'u', 'p')
if old[1] and old[1] ~= ARGV[1] and tonumber(old[2]) > tonumber(ARGV[2]) then return '' end
local position = old[3]
if not position then position = ARGV[5] == 'now' and redis.call('GET', KEYS[2]) or '0' end
if tonumber(ARGV[4]) > tonumber(position) then position = ARGV[4] end
redis.call('HSET', KEYS[1], 'o', ARGV[1], 'u', ARGV[3], 'p', position)
return position`);

/** KEYS: entries, positions, times, refunds, counts. ARGV: time, day. Returns how many entries were deleted. */
export const SWEEP_LEDGER: Script = script(`
local old = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', '(' .. ARGV[1], 'LIMIT', '0', '${SWEPT_AT_ONCE}')
for _, id in ipairs(old) do
  redis.call('HDEL', KEYS[1], id)
  redis.call('ZREM', KEYS[2], id)
  redis.call('ZREM', KEYS[3], id)
  redis.call('HDEL', KEYS[4], id)
end
for _, field in ipairs(redis.call('HKEYS', KEYS[5])) do
  if string.sub(field, 3, 12) < ARGV[2] then redis.call('HDEL', KEYS[5], field) end
end
return #old`);
