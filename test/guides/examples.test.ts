import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { fetchKeys, requestCardData, sealPin } from '../../packages/sdk/device/device.ts'
import { writeSandboxFile } from '../../src/sandbox/sandbox-file.ts'
import { openProject, packSdk } from '../support/packed-sdk.ts'
import { makeFolder } from '../support/process.ts'
import { openServedService, type ServedService } from '../support/served-service.ts'

const examples = fileURLToPath(new URL('../../examples/', import.meta.url))

let service: ServedService
let sandboxFile: string
before(async () => {
  service = await openServedService()
  sandboxFile = await writeSandboxFile(await makeFolder(), service.sandbox)
})

let backend: ChildProcess | undefined
after(async () => {
  if (!backend || backend.exitCode !== null) return
  const ended = once(backend, 'exit')
  backend.kill()
  await ended
})

const endOf = (child: ChildProcess): AbortSignal => {
  const ending = new AbortController()
  child.once('exit', (code) => ending.abort(new Error(`The back end ended: ${code}`)))
  return ending.signal
}

/** Installs the example with the packed SDK, and starts it. @returns its address. */
const startBackend = async (): Promise<string> => {
  const project = await openProject()
  const folder = join(await makeFolder(), 'client-backend')
  await cp(join(examples, 'client-backend'), folder, { recursive: true })
  await project.run(`npm install ${await packSdk(project)}`, folder)
  backend = spawn(process.execPath, ['backend.mjs'], {
    cwd: folder,
    env: { PINFOLD_CONFIG: sandboxFile, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (!backend.stdout) throw new Error('It prints nothing.')
  const [line] = await once(backend.stdout.setEncoding('utf8'), 'data', {
    // Whoever ends without a word is not waited for.
    signal: endOf(backend),
  })
  return /http:\S+/.exec(String(line))?.[0] ?? ''
}

test('the back end serves a cardholder: a card once, its PIN from the device, its data to the device', async () => {
  const address = await startBackend()
  const call = async (method: string, path: string, body?: object, login = 'ana-is-logged-in') => {
    const response = await fetch(`${address}${path}`, {
      method,
      headers: { authorization: `Bearer ${login}` },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }
  const wish = { cardProduct: 1001, orderId: 'one' }
  const { json: card } = await call('POST', '/cards', wish)
  const publicToken = String(card.publicToken)
  assert.equal((await call('POST', '/cards', wish)).json.publicToken, publicToken)

  const keys = await fetchKeys(service.sandbox.baseUrl)
  const sealed = await sealPin(keys, publicToken, '7193')
  assert.equal((await call('POST', `/cards/${publicToken}/pin`, sealed)).status, 200)
  const asked = await requestCardData(keys, publicToken, { includePin: true })
  const { json: relayed } = await call('POST', `/cards/${publicToken}/data`, asked.body)
  assert.equal((await asked.open(relayed)).pin, '7193')
  const weak = await sealPin(keys, publicToken, '1111')
  assert.deepEqual(await call('POST', `/cards/${publicToken}/pin`, weak), {
    status: 422,
    json: { code: 'weak_pin' },
  })
  const unblocked = await call('POST', `/cards/${publicToken}/pin/unblock`)
  assert.equal(unblocked.json.remainingTries, 3)
  assert.equal((await call('GET', `/cards/${publicToken}`)).json.maskedPan, card.maskedPan)

  assert.equal((await call('GET', `/cards/${publicToken}`, undefined, 'nobody')).status, 401)
  const { publicToken: other } = await service.createCard()
  assert.equal((await call('GET', `/cards/${other}`)).status, 404)
})

test('the journey with curl goes through a blocked PIN and back', async () => {
  const run = await promisify(execFile)(join(examples, 'curl.sh'), [sandboxFile])
  assert.equal(run.stderr, '')
  const lines = run.stdout
    .replaceAll(/[0-9]{10}/g, '##########')
    .trim()
    .split('\n')
  const status = (subject: string, tries: number) => {
    const name = tries === 0 ? 'Blocked' : 'Unblocked'
    return new RegExp(`^${subject} status: .*"status":"${name}".*"remainingTries":${tries}}$`)
  }
  const expected = [
    /^Card #{10}$/,
    /^Current PIN: 4821$/,
    /^Three wrong PINs at a terminal:$/,
    /^55$/,
    /^55$/,
    /^55$/,
    status('PIN', 0),
    status('PIN', 3),
    status('CVV', 0),
    status('CVV', 3),
  ]
  assert.equal(lines.length, expected.length, run.stdout)
  for (const [at, pattern] of expected.entries()) assert.match(lines[at] ?? '', pattern)
})

test('an example is short enough to read', async () => {
  const text = await readFile(join(examples, 'client-backend/backend.mjs'), 'utf8')
  assert.ok(text.split('\n').length <= 65)
})
