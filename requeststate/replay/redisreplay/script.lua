-- One call on one bucket. KEYS[1] is the bucket's hash, which has no TTL: !e its epoch, !w the server history that the
-- epoch belongs to, !h the horizon, and for every spent id a field with "<exp>:<attempt>". No id begins with "!".
-- ARGV: operation, a fresh epoch, 1 to trust persistence, now in seconds or '' for the server's clock, then for consume
-- the token's epoch, id, attempt, exp; for sweep the cursor; for open nothing.
local key, op = KEYS[1], ARGV[1]

-- run_id alone survives A to B to A failovers inside one process, master_replid alone a restart from a snapshot.
local who = 'trusted'
if ARGV[3] ~= '1' then
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
  local replid = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
  if not run or not replid then
    return redis.error_reply('ERR requeststate: INFO has no run_id or no master_replid')
  end
  who = run .. replid
end

local head = redis.call('HMGET', key, '!e', '!w', '!h')
local epoch, horizon = head[1], tonumber(head[3] or '0')
if not epoch or head[2] ~= who then
  -- Another history, or none: whatever is here belongs to tokens that can no longer be judged.
  epoch, horizon = ARGV[2], 0
  redis.call('UNLINK', key)
  redis.call('HSET', key, '!e', epoch, '!w', who, '!h', '0')
end

local now = tonumber(ARGV[4])
if not now then
  now = tonumber(redis.call('TIME')[1])
end
local margin = 60

-- forget deletes the expired ones among fields and values in turn, and raises the horizon over them before anything
-- else can be answered.
local function forget(pairs)
  local old = {}
  for i = 1, #pairs, 2 do
    if string.sub(pairs[i], 1, 1) ~= '!' then
      local exp = tonumber(string.match(pairs[i + 1], '^(%d+):'))
      if exp <= now - margin then
        old[#old + 1] = pairs[i]
        if exp > horizon then horizon = exp end
      end
    end
  end
  if #old > 0 then
    -- A server whose memory is full refuses the HSET of a script that has not written yet, and would never forget. This
    -- is a write that changes nothing and needs no memory.
    redis.call('HDEL', key, '!')
    redis.call('HSET', key, '!h', string.format('%.0f', horizon))
    for i = 1, #old, 1000 do -- unpack has a limit, and HSCAN may return a small hash whole
      redis.call('HDEL', key, unpack(old, i, math.min(i + 999, #old)))
    end
  end
  return #old
end

if op == 'open' then
  return {'OPEN', epoch}
end
if op == 'sweep' then
  local page = redis.call('HSCAN', key, ARGV[5], 'COUNT', '200')
  return {'SWEPT', epoch, page[1], forget(page[2])}
end

if ARGV[5] ~= epoch then
  return {'STALE', epoch}
end
local field, exp = ARGV[6], tonumber(ARGV[8])
local held = redis.call('HGET', key, field)
if held then
  -- The attempt is random for each call: only a retry inside the very call that spent it can show it again.
  if string.sub(held, string.find(held, ':', 1, true) + 1) == ARGV[7] then
    return {'SPENT', epoch}
  end
  return {'USED', epoch}
end
-- Four a call: the expired ids settle at a third of the others.
forget(redis.call('HRANDFIELD', key, '4', 'WITHVALUES'))
if exp <= horizon then
  return {'STALE', epoch}
end
redis.call('HSET', key, field, ARGV[8] .. ':' .. ARGV[7])
return {'SPENT', epoch}
