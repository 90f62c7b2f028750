// The official TypeScript client against examples/redeem. The argument is the first line of the server's output.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const { url, tokens } = JSON.parse(process.argv[2]);
const arguments_ = (card) => ({ card });
const accepted = { confirm: { action: 'accept', content: {} } };
let questions = [];

async function connect(user, action = 'accept') {
  const client = new Client({ name: 'tsclient', version: '1' }, {
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode: { pin: '2026-07-28' } },
  });
  client.setRequestHandler('elicitation/create', async (request) => {
    questions.push(request.params.message);
    return { action, content: action === 'accept' ? {} : undefined };
  });
  const requestInit = { headers: { Authorization: `Bearer ${tokens[user]}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

const alice = await connect('alice');
const bob = await connect('bob');
const shy = await connect('alice', 'decline');

// begin makes a first call by hand and returns the token.
async function begin(client, name, card) {
  const res = await client.callTool({ name, arguments: arguments_(card) }, { allowInputRequired: true });
  assert.equal(res.resultType, 'input_required');
  assert.match(res.requestState, /^rs1x\./);
  assert.deepEqual(Object.keys(res.inputRequests), ['confirm']);
  return res.requestState;
}

const retry = (client, name, card, requestState, inputResponses = accepted) =>
  client.callTool({ name, arguments: arguments_(card), requestState, inputResponses }, { allowInputRequired: true });

// refused checks that a retry gets the one frozen error.
async function refused(promise) {
  await assert.rejects(promise, (e) => {
    assert.ok(e instanceof ProtocolError, String(e));
    assert.equal(e.code, -32602);
    assert.match(e.message, /Invalid or expired requestState$/);
    assert.deepEqual(e.data, { reason: 'invalid_request_state' });
    return true;
  });
}

const steps = {
  async 'the client answers by itself'() {
    questions = [];
    const res = await alice.callTool({ name: 'redeem_card', arguments: arguments_('1') });
    assert.equal(res.structuredContent.redeemed, true);
    assert.deepEqual(questions, ['Redeem gift card 1 for 50 euros?']);
  },
  async 'the client declines by itself'() {
    const res = await shy.callTool({ name: 'redeem_card', arguments: arguments_('2') });
    assert.equal(res.structuredContent.redeemed, false);
  },
  async 'without single use, five times'() {
    const token = await begin(alice, 'redeem_card_trap', '3');
    const balances = [];
    for (let i = 0; i < 5; i++) {
      balances.push((await retry(alice, 'redeem_card_trap', '3', token)).structuredContent.balance);
    }
    assert.equal(balances[4] - balances[0], 200);
  },
  async 'with it, once'() {
    const token = await begin(alice, 'redeem_card', '4');
    assert.equal((await retry(alice, 'redeem_card', '4', token)).structuredContent.redeemed, true);
    for (let i = 0; i < 4; i++) await refused(retry(alice, 'redeem_card', '4', token));
  },
  async 'with it, once of eight at a time'() {
    const token = await begin(alice, 'redeem_card', '5');
    const all = await Promise.allSettled(Array.from({ length: 8 }, () => retry(alice, 'redeem_card', '5', token)));
    assert.equal(all.filter((one) => one.status === 'fulfilled').length, 1);
    for (const one of all) if (one.status === 'rejected') await refused(Promise.reject(one.reason));
  },
  async 'another user'() {
    const token = await begin(alice, 'redeem_card', '6');
    await refused(retry(bob, 'redeem_card', '6', token));
    assert.equal((await retry(alice, 'redeem_card', '6', token)).structuredContent.redeemed, true);
  },
  async 'other arguments'() {
    const token = await begin(alice, 'redeem_card', '7');
    await refused(retry(alice, 'redeem_card', '8', token));
    await refused(retry(alice, 'redeem_card_trap', '7', token));
  },
  async 'tampered'() {
    const token = await begin(alice, 'redeem_card', '9');
    await refused(retry(alice, 'redeem_card', '9', token + '-TAMPERED'));
    await refused(retry(alice, 'redeem_card', '9', token.slice(0, -4)));
  },
  async 'expired'() {
    const token = await begin(alice, 'redeem_card_quickly', '10');
    await sleep(1100);
    await refused(retry(alice, 'redeem_card_quickly', '10', token));
  },
  async 'answers without a token are asked for again'() {
    const res = await retry(alice, 'redeem_card', '11', undefined);
    assert.equal(res.resultType, 'input_required');
  },
};

for (const [name, step] of Object.entries(steps)) {
  await step();
  console.log(`ok: ${name}`);
}
await Promise.all([alice, bob, shy].map((client) => client.close()));
