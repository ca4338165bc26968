import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPost } from '../../src/operations/webhooks/post.ts'
import { addressPolicy } from '../../src/outbound/address-policy.ts'
import { targetCheck } from '../../src/outbound/target-url.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { openReceiver } from '../operations/webhooks/receiver.ts'
import { openTestService } from '../support/service.ts'

const ownPorts = [8080, 8081]
const strict = addressPolicy({ allowCidrs: [], ownPorts, ports: null })
const sandbox = addressPolicy({ allowCidrs: ['127.0.0.0/8', '::1'], ownPorts, ports: null })
const production = targetCheck({
  httpsOnly: true,
  ports: null,
  ownUrls: ['https://pinfold.example/base'],
  judgeAddress: strict,
})
const inSandbox = targetCheck({
  httpsOnly: false,
  ports: null,
  ownUrls: ['http://127.0.0.1:8080'],
  judgeAddress: sandbox,
})
const noStop = new AbortController().signal

/** Every spelling of an address that must not be called, and the special ranges. */
const tricks = [
  'https://127.0.0.1/',
  'https://127.1/',
  'https://2130706433/',
  'https://0177.0.0.1/',
  'https://0x7f000001/',
  'https://0x7f.0x0.0x0.0x1/',
  'https://①②⑦.⓪.⓪.①/',
  'https://127.0.0.1./',
  'https://localhost/',
  'https://LOCALHOST./',
  'https://api.localhost/',
  'https://0/',
  'https://0.0.0.0/',
  'https://10.1.2.3/',
  'https://167772161/',
  'https://100.64.0.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://0xA9FEA9FE/',
  'https://172.16.0.1/',
  'https://172.31.255.255/',
  'https://192.0.0.192/',
  'https://192.168.1.1/',
  'https://192.88.99.1/',
  'https://198.18.0.1/',
  'https://203.0.113.9/',
  'https://224.0.0.1/',
  'https://239.255.255.250/',
  'https://240.0.0.1/',
  'https://255.255.255.255/',
  'https://[::]/',
  'https://[::1]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[::ffff:8.8.8.8]/',
  'https://[::127.0.0.1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[64:ff9b::8.8.8.8]/',
  'https://[64:ff9b:1::a00:1]/',
  'https://[100::1]/',
  'https://[2001::1]/',
  'https://[2001:db8::1]/',
  'https://[2002:7f00:1::]/',
  'https://[3fff::1]/',
  'https://[5f00::1]/',
  'https://[fc00::1]/',
  'https://[fd12:3456::1]/',
  'https://[fe80::1]/',
  'https://[fec0::1]/',
  'https://[ff02::1]/',
]

test('no spelling of a private, loopback, mapped, translated or reserved address is taken', () => {
  for (const url of tricks) assert.notEqual(production(url), null, url)
})

test('nothing is posted to such an address either, whatever let it in', async () => {
  const post = createPost({
    judgeAddress: strict,
    resolve: async () => ['127.0.0.1'],
    timeoutMs: 60_000,
    httpsOnly: false,
  })
  for (const url of tricks) {
    const outcome = await post(url.replace('https', 'http'), {}, '{}', noStop)
    assert.deepEqual(outcome, { outcome: 'address_refused' }, url)
  }
})

test('public addresses and names are taken', () => {
  const urls = [
    'https://8.8.8.8/a?b=c',
    'https://[2606:4700::1111]/',
    'https://client.example:8443/',
    // Luhn-valid by chance: 532653032864.
    'https://client.example/87cbc1b5-527c-4f8c-b532-653032864aaf',
  ]
  for (const url of urls) assert.equal(production(url), null, url)
  assert.equal(production('https://8.8.8.8/4242424242424242'), 'must not contain a card number')
})

test('a URL that is not plain https to another host is refused', () => {
  const refused = [
    '',
    'client.example',
    '//client.example/',
    'http://client.example/',
    'ftp://client.example/',
    'file:///etc/passwd',
    'https://user@client.example/',
    'https://user:secret@client.example/',
    'https://client.example/#part',
    'https://client.example/cards/4000001234567899',
    'https://client.example/?card=4000%200012%203456%207899',
    'https://client.example:0/',
    'https://pinfold.example/',
    'https://PINFOLD.example./',
    'https://[fe80::1%25eth0]/',
  ]
  for (const url of refused) assert.notEqual(production(url), null, url)
})

test('in the sandbox loopback is called, and nothing else that is not public, nor this service', () => {
  const taken = [
    'http://127.0.0.1:9000/',
    'http://localhost:9000/',
    'http://[::1]:9000/',
    'http://2130706433:9000/',
  ]
  for (const url of taken) assert.equal(inSandbox(url), null, url)
  assert.equal(inSandbox('ftp://127.0.0.1/'), 'must be an http or https URL')
  assert.equal(production('ftp://client.example/'), 'must be an https URL')
  const refused = [
    'http://10.0.0.1:9000/',
    'http://192.168.0.1/',
    'http://[::ffff:127.0.0.1]:9000/',
    'http://0.0.0.0:9000/',
    'http://127.0.0.1:8080/',
    'http://127.0.0.1:8081/livez',
    'http://localhost:8081/',
    'http://[::1]:8081/',
    'http://127.9.9.9:8081/',
  ]
  for (const url of refused) assert.notEqual(inSandbox(url), null, url)
})

test('an operator’s exceptions are those blocks and no more', () => {
  const judgeAddress = addressPolicy({
    allowCidrs: ['10.2.0.0/16', 'fd00:1::/32', '192.168.7.7'],
    ownPorts,
    ports: null,
  })
  const verdicts = {
    '10.2.255.1': 'exception',
    '10.3.0.1': 'refused',
    '192.168.7.7': 'exception',
    '192.168.7.8': 'refused',
    'fd00:1::9': 'exception',
    'fd00:2::9': 'refused',
    '::ffff:10.2.0.1': 'refused',
    '127.0.0.1': 'refused',
    '8.8.8.8': 'public',
    nonsense: 'refused',
  }
  for (const [address, verdict] of Object.entries(verdicts)) {
    assert.equal(judgeAddress(address, 443), verdict, address)
  }
})

test('with OUTBOUND_PORTS set, no other port is called, by address or by name', async () => {
  const ports = [443, 8443]
  const judgeAddress = addressPolicy({ allowCidrs: ['10.2.0.0/16'], ownPorts, ports })
  for (const address of ['8.8.8.8', '2606:4700::1', '10.2.0.1']) {
    assert.notEqual(judgeAddress(address, 443), 'refused')
    assert.notEqual(judgeAddress(address, 8443), 'refused')
    for (const port of [80, 22, 444]) assert.equal(judgeAddress(address, port), 'refused')
  }
  const faultOf = targetCheck({ httpsOnly: true, ports, ownUrls: [], judgeAddress })
  assert.equal(faultOf('https://client.example/'), null)
  assert.equal(faultOf('https://client.example:8443/'), null)
  assert.match(faultOf('https://client.example:444/') ?? '', /443, 8443/)
  const post = createPost({
    judgeAddress,
    resolve: async () => ['8.8.8.8'],
    timeoutMs: 60_000,
    httpsOnly: true,
  })
  const outcome = await post('https://client.example:444/', {}, '{}', noStop)
  assert.deepEqual(outcome, { outcome: 'address_refused' })
  const read = (OUTBOUND_PORTS: string) => readConfig({ SANDBOX: 'true', OUTBOUND_PORTS })
  assert.deepEqual(read('443,8443').delivery.ports, ports)
  for (const wrong of ['0', '443,', '65536', 'https', '-1', '4e2']) {
    assert.throws(() => read(wrong), /OUTBOUND_PORTS must be ports/, wrong)
  }
})

test('a name that resolves to an address not to be called is refused, also among good ones', async () => {
  for (const addresses of [
    ['10.0.0.5'],
    ['8.8.8.8', '127.0.0.1'],
    ['2606:4700::1', '::1'],
    ['::ffff:127.0.0.1'],
  ]) {
    const post = createPost({
      judgeAddress: strict,
      resolve: async () => addresses,
      timeoutMs: 60_000,
      httpsOnly: false,
    })
    const outcome = await post('http://client.example/', {}, '{}', noStop)
    assert.deepEqual(outcome, { outcome: 'address_refused' }, addresses.join())
  }
})

test('a name is resolved once, and what was judged is what is connected to', async () => {
  const receiver = await openReceiver()
  const other = await openReceiver(() => 200, 0)
  let looks = 0
  const answers = ['127.0.0.2', '10.0.0.1']
  const post = createPost({
    judgeAddress: sandbox,
    // The second look would lead elsewhere: rebinding.
    resolve: async () => [answers[looks++] ?? ''],
    timeoutMs: 60_000,
    httpsOnly: false,
  })
  const outcome = await post(`http://rebinding.example:${receiver.port}/`, {}, '{}', noStop)
  assert.equal(looks, 1)
  assert.deepEqual(outcome, { outcome: 'connection_refused' }, 'to 127.0.0.2, where nobody listens')
  const second = await post(`http://rebinding.example:${other.port}/`, {}, '{}', noStop)
  assert.deepEqual(second, { outcome: 'address_refused' })
  assert.equal(receiver.received.length + other.received.length, 0)
})

test('a redirect is not followed, and counts as a failure', async () => {
  const hidden = await openReceiver()
  const receiver = await openReceiver((_, response) => {
    response.writeHead(307, { location: hidden.url }).end()
    return undefined
  })
  const post = createPost({
    judgeAddress: sandbox,
    resolve: async () => ['127.0.0.1'],
    timeoutMs: 60_000,
    httpsOnly: false,
  })
  assert.deepEqual(await post(receiver.url, {}, '{}', noStop), {
    outcome: 'bad_status',
    statusCode: 307,
  })
  assert.equal(hidden.received.length, 0)
})

test('of a text or JSON answer 256 bytes are stored, and never a card number', async () => {
  const card = '4000 0012 3456 7899'
  const notKept = 'The answer is not stored: it may contain a card number.'
  const answers: readonly (readonly [string, string | Buffer, string | undefined])[] = [
    ['text/plain', 'a'.repeat(5_000), 'a'.repeat(256)],
    ['application/problem+json', '{"title":"no"}', '{"title":"no"}'],
    ['text/plain', 'one\u0000\r\ntwo\u001b[31m', 'one two [31m'],
    ['text/plain', `card ${card}`, notKept],
    ['text/plain', `${'a'.repeat(245)} ${card} b`, notKept],
    ['text/plain', `${'a'.repeat(400)} ${card}`, 'a'.repeat(256)],
    ['image/png', Buffer.alloc(300, 1), undefined],
    ['application/octet-stream', 'secret', undefined],
  ]
  for (const [type, body, kept] of answers) {
    const receiver = await openReceiver((_, response) => {
      response.writeHead(400, { 'content-type': type }).end(body)
      return undefined
    })
    for (const verdict of ['public', 'exception'] as const) {
      const post = createPost({
        judgeAddress: () => verdict,
        resolve: async () => [],
        timeoutMs: 60_000,
        httpsOnly: false,
      })
      const outcome = await post(receiver.url, {}, '{}', noStop)
      assert.equal(outcome?.response, verdict === 'public' ? kept : undefined, type)
    }
  }
})

test('an endpoint that drips, floods or never answers is given up at the time limit', {
  timeout: 120_000,
}, async () => {
  const post = createPost({
    judgeAddress: sandbox,
    resolve: async () => [],
    timeoutMs: 2_000,
    httpsOnly: false,
  })
  const silent = await openReceiver(() => undefined)
  const dripping = await openReceiver((_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    const timer = setInterval(() => response.write('.'), 20)
    response.once('close', () => clearInterval(timer))
    return undefined
  })
  const flooding = await openReceiver((_, response) => {
    response.writeHead(200).end(Buffer.alloc(20_000_000))
    return undefined
  })
  assert.deepEqual(await post(silent.url, {}, '{}', noStop), { outcome: 'timed_out' })
  assert.equal((await post(dripping.url, {}, '{}', noStop))?.outcome, 'delivered')
  assert.equal((await post(flooding.url, {}, '{}', noStop))?.outcome, 'delivered')
})

test('a webhook to such an address is answered 422 at /url, when made and when changed', async () => {
  const service = await openTestService()
  const good = { url: 'http://127.0.0.1:9000/', events: ['*'] }
  const { json } = await service.call('POST', '/webhooks', { body: good })
  for (const url of [
    'http://10.0.0.1/',
    'http://[::ffff:127.0.0.1]:9000/',
    'http://127.0.0.1:8081/',
  ]) {
    const body = { ...good, url }
    for (const answer of [
      await service.call('POST', '/webhooks', { body }),
      await service.call('PUT', `/webhooks/${json.webhookId}`, { body }),
    ]) {
      assert.deepEqual([answer.status, answer.json.errors[0].pointer], [422, '/url'], url)
    }
  }
})
