import assert from 'node:assert/strict'
import { platform } from 'node:os'
import { test } from 'node:test'
import { openChromium } from './support/chromium.ts'
import { readCard } from './support/closed-card.ts'
import { choosePin, issueCard, openDemo, reveal } from './support/demo-visit.ts'
import { record } from './support/recorder.ts'
import { startRelay } from './support/relay-process.ts'
import { freePort, startSandbox } from './support/sandbox.ts'

const chromium = await openChromium()
const skip = chromium.leftOut || (platform() !== 'linux' && 'Memory of a process is read on Linux.')

test('nothing that the device shows is in the memory, log or traffic of the relay', {
  skip,
}, async () => {
  const [servicePort, relayPort] = [await freePort(), await freePort()]
  const toService = await record(servicePort)
  const toRelay = await record(relayPort)
  const sandbox = await startSandbox({ port: servicePort, baseUrl: toService.url })
  const relay = await startRelay(sandbox.file, relayPort, toRelay.url)
  // Six digits can stand in a memory by chance: these do not, before anybody typed them.
  const before = await relay.memory()
  const pin = ['628416', '719340', '805372', '340957'].find((each) => !holds(before, each)) ?? ''
  assert.match(pin, /^[0-9]{6}$/)

  const { complaints, devtools, page, requested } = await chromium.visit()
  await openDemo(page, toRelay.url)
  await issueCard(page, '1003')
  assert.equal(await choosePin(page, pin), 'Your new PIN is set.')
  await page.check('#with-pin')
  const answered = page.waitForResponse((response) => response.url().endsWith('/encrypted'))
  await reveal(page)
  const { jwe } = await (await answered).json()
  const shown = await readCard(devtools)
  assert.deepEqual([shown.pin, shown.pan.length, shown.cvv.length], [pin, 16, 3])
  assert.deepEqual(complaints, [])
  for (const url of requested) {
    const isKeys = url === `${toService.url}/.well-known/jwks.json`
    assert.ok(isKeys || url.startsWith(`${toRelay.url}/demo`) || url === 'data:,', url)
  }

  const places = {
    memory: await relay.memory(),
    heap: await relay.heapStrings(),
    log: relay.printed(),
    'traffic with the device': toRelay.recorded(),
    'traffic with the service': toService.recorded(),
  }
  const secrets = secretsOf(shown)
  for (const [name, bytes] of Object.entries(places)) {
    for (const secret of secrets) assert.ok(!holds(bytes, secret), `${secret} is in the ${name}`)
  }
  // What it did relay is found in the same places by the same search, or finding nothing says nothing.
  for (const name of [
    'memory',
    'heap',
    'traffic with the device',
    'traffic with the service',
  ] as const) {
    assert.ok(holds(places[name], jwe), `the ciphertext is in the ${name}`)
  }
})

/** As text of one byte or two a character: V8 keeps both. */
const holds = (bytes: Buffer, text: string): boolean =>
  bytes.includes(Buffer.from(text, 'latin1')) || bytes.includes(Buffer.from(text, 'utf16le'))

/**
 * Three digits alone are everywhere: the CVV is looked for as it stands in what is sealed, where the
 * number is beside it.
 */
const secretsOf = ({ cvv, pan, pin }: { cvv: string; pan: string; pin: string }): string[] => [
  pan,
  pan.replaceAll(/(.{4})(?=.)/g, '$1 '),
  Buffer.from(pan).toString('hex'),
  pin,
  `"CVV":"${cvv}"`,
  `\\"CVV\\":\\"${cvv}\\"`,
  `"cvv":"${cvv}"`,
]
