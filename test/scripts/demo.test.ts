import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { open, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { writeSandboxFile } from '../../src/sandbox/sandbox-file.ts'
import { pinfold } from '../cli/run-pinfold.ts'
import { freePorts } from '../support/free-ports.ts'
import { shortLived } from '../support/node-flags.ts'
import { bareEnvironment, makeFolder, makeMigratedFolder } from '../support/process.ts'
import { openServedService, type ServedService } from '../support/served-service.ts'
import { freePort } from '../support/switch.ts'

interface Run {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

const demo = fileURLToPath(new URL('../../scripts/demo.ts', import.meta.url))

const runDemo = (env: NodeJS.ProcessEnv): Promise<Run> =>
  new Promise((resolve) => {
    execFile(process.execPath, [...shortLived, demo], { env }, (error, stdout, stderr) => {
      resolve({ exitCode: error ? Number(error.code ?? 1) : 0, stdout, stderr })
    })
  })

/** What a demo is given that is to start a server of its own. */
let env: NodeJS.ProcessEnv
let privateUrl: string
let service: ServedService
before(async () => {
  service = await openServedService()
  const [port, privatePort] = await freePorts()
  const own = { DATA_DIR: await makeMigratedFolder(), PORT: `${port}` }
  env = { ...bareEnvironment, ...own, PRIVATE_PORT: `${privatePort}` }
  privateUrl = `http://127.0.0.1:${privatePort}`
})

const isReady = (url = privateUrl): Promise<boolean> =>
  fetch(`${url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )

test('the demo walks the whole journey', async (t) => {
  const { dataDir, sandbox } = service
  await writeSandboxFile(dataDir, sandbox)
  const { exitCode, stderr, stdout } = await runDemo({ ...bareEnvironment, DATA_DIR: dataDir })
  await t.test('a running server is used, and goes on running', async () => {
    assert.equal(exitCode, 0, stdout + stderr)
    assert.match(stdout, /All \d+ answers match the specification/)
    assert.doesNotMatch(stdout, /a server started for it/)
    assert.equal(await isReady(sandbox.privateUrl), true)
  })
  await t.test('what it shows has no secret, no token and, off a terminal, no colour', () => {
    assert.match(stdout, /Basic demo-client:\*+\n/)
    for (const { clientSecret } of [sandbox, sandbox.otherClient]) {
      assert.equal(stdout.includes(clientSecret), false)
    }
    assert.doesNotMatch(stdout, /eyJ/)
    assert.equal(stdout.includes('\u001b'), false)
  })
})

test('the demo works after the commands of the tutorial, in whatever order they were typed', async () => {
  const { dataDir, sandbox } = service
  await writeSandboxFile(dataDir, sandbox)
  const tutorial = await readFile(
    new URL('../../docs/tutorials/first-calls.md', import.meta.url),
    'utf8',
  )
  const commands = [...tutorial.matchAll(/^npx pinfold ((?:products|clients) [^\n#]+)/gm)].map(
    ([, words = '']) => (words.match(/'[^']*'|\S+/g) ?? []).map((each) => each.replaceAll("'", '')),
  )
  assert.ok(commands.length >= 3)
  const ended: Awaited<ReturnType<typeof pinfold>>[] = []
  // What the reverse order refuses is done in the second round.
  const { admin, baseUrl, privateUrl } = sandbox
  const env = {
    PINFOLD_URL: baseUrl,
    PINFOLD_PRIVATE_URL: privateUrl,
    PINFOLD_CLIENT_ID: admin.clientId,
    PINFOLD_CLIENT_SECRET: admin.clientSecret,
  }
  const products = commands.filter(([noun]) => noun === 'products')
  for (const words of [...commands.toReversed(), ...products]) {
    ended.push(await pinfold(env, ...words))
  }
  const { json, text } = await service.call('GET', '/products')
  const isGranted = json.some(({ productId }: { productId: number }) => productId === 3001)
  assert.ok(isGranted, text + JSON.stringify(ended))
  const { exitCode, stderr, stdout } = await runDemo({ ...bareEnvironment, DATA_DIR: dataDir })
  assert.equal(exitCode, 0, stdout + stderr)
})

test('without a server the demo starts one, walks the whole journey, and stops it', async () => {
  const withLink = { ...env, LINK_PORT: String(await freePort()) }
  const { exitCode, stderr, stdout } = await runDemo(withLink)
  assert.equal(exitCode, 0, stdout + stderr)
  assert.match(stdout, /a server started for it/)
  assert.match(stdout, /On the wire of card networks.*✔ 00 sign-on.*✔ 00 its reversal/s)
  assert.equal(await isReady(), false)
})

test('a demo whose port another server has ends with 1 and says which', async () => {
  const DATA_DIR = await makeFolder()
  const { port } = new URL(service.sandbox.privateUrl)
  const { exitCode, stderr } = await runDemo({ ...env, DATA_DIR, PRIVATE_PORT: port })
  assert.equal(exitCode, 1)
  assert.match(stderr, new RegExp(`another server uses 127\\.0\\.0\\.1:${port}`))
  assert.match(stderr, /set DATA_DIR to its folder, or set PRIVATE_PORT/)
})

test('a demo that is ended leaves no server behind', async () => {
  const child = spawn(process.execPath, [...shortLived, demo], { env })
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  await once(child, 'exit')
  const deadline = Date.now() + 60_000
  while (Date.now() < deadline && (await isReady())) await wait(50)
  assert.equal(await isReady(), false)
})

test('an answer that is not what the specification says ends the demo with 1', async (t) => {
  const wrong = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"access_token":"x"}')
  })
  await once(wrong.listen(0, '127.0.0.1'), 'listening')
  t.after(() => wrong.close())
  const address = wrong.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  const file = {
    ...service.sandbox,
    baseUrl: url,
    privateUrl: url,
    tokenEndpoint: `${url}/oauth/token`,
  }
  const dataDir = await makeFolder()
  await writeFile(join(dataDir, 'sandbox.json'), JSON.stringify(file))
  const { exitCode, stdout } = await runDemo({ ...env, DATA_DIR: dataDir })
  assert.equal(exitCode, 1)
  assert.match(stdout, /The answer differs from the specification/)
})

test('a demo whose output does not fit on the disk fails and says so, and so does its help', {
  skip: !existsSync('/dev/full') && 'this system has no /dev/full',
}, async () => {
  const { dataDir, sandbox } = service
  await writeSandboxFile(dataDir, sandbox)
  for (const words of [[], ['--json'], ['--help']]) {
    const full = await open('/dev/full', 'w')
    const child = spawn(process.execPath, [...shortLived, demo, ...words], {
      env: { ...bareEnvironment, DATA_DIR: dataDir },
      stdio: ['ignore', full.fd, 'pipe'],
    })
    assert.ok(child.stderr)
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
    await full.close()
    assert.deepEqual(
      [code, said],
      [1, 'Standard output cannot be written (ENOSPC): the answer is incomplete.\n'],
    )
  }
})

test('a demo of something that is no sandbox says so', async () => {
  const { exitCode, stderr } = await runDemo({ ...env, SANDBOX: 'no' })
  assert.equal(exitCode, 1)
  assert.match(stderr, /SANDBOX must be true or false/)
})
