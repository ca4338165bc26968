import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { projectRoot, type SandboxPlace, sandboxPlace, startSandbox } from './sandbox-server.ts'

interface Run {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

const runDemo = (env: SandboxPlace['env']): Promise<Run> =>
  new Promise((resolve) => {
    const options = { cwd: projectRoot, env, timeout: 60_000 }
    execFile(process.execPath, ['scripts/demo.ts'], options, (error, stdout, stderr) => {
      resolve({ exitCode: error ? Number(error.code ?? 1) : 0, stdout, stderr })
    })
  })

let place: SandboxPlace
before(async () => {
  place = await sandboxPlace()
})
after(() => place.remove())

const isReady = (): Promise<boolean> =>
  fetch(`${place.privateUrl}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )

test('without a server the demo starts one, walks the whole journey, and stops it', async () => {
  const { exitCode, stderr, stdout } = await runDemo(place.env)
  assert.equal(exitCode, 0, stdout + stderr)
  assert.match(stdout, /a server started for it/)
  assert.match(stdout, /All \d+ answers are what the specification says/)
  assert.equal(await isReady(), false)
})

test('a demo that is ended leaves no server behind', async () => {
  const demo = spawn(process.execPath, ['scripts/demo.ts'], { cwd: projectRoot, env: place.env })
  await once(demo.stdout, 'data')
  demo.kill('SIGTERM')
  await once(demo, 'exit')
  const deadline = Date.now() + 10_000
  while (Date.now() < deadline && (await isReady())) await wait(50)
  assert.equal(await isReady(), false)
})

test('a running server is used, and goes on running', async (t) => {
  t.after(await startSandbox(place))
  const { exitCode, stdout } = await runDemo(place.env)
  assert.equal(exitCode, 0, stdout)
  assert.doesNotMatch(stdout, /a server started for it/)
  assert.equal(await isReady(), true)
})

test('what the demo shows has no secret, no token and, off a terminal, no colour', async () => {
  const { stdout } = await runDemo(place.env)
  const text = await readFile(join(place.dataDir, 'sandbox.json'), 'utf8')
  const { clientSecret, otherClient } = JSON.parse(text)
  assert.match(stdout, /Basic demo-client:\*+\n/)
  assert.equal(stdout.includes(clientSecret), false)
  assert.equal(stdout.includes(otherClient.clientSecret), false)
  assert.doesNotMatch(stdout, /eyJ/)
  assert.equal(stdout.includes('\u001b'), false)
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
  const elsewhere = await sandboxPlace()
  t.after(elsewhere.remove)
  const file = {
    baseUrl: url,
    privateUrl: url,
    processorPath: 'processor',
    tokenEndpoint: `${url}/oauth/token`,
    clientId: 'x',
    clientSecret: 'x',
    scope: '',
  }
  await writeFile(join(elsewhere.dataDir, 'sandbox.json'), JSON.stringify(file))
  const { exitCode, stdout } = await runDemo(elsewhere.env)
  assert.equal(exitCode, 1)
  assert.match(stdout, /Not what the specification says/)
})

test('a demo without a sandbox says so', async () => {
  const { exitCode, stderr } = await runDemo({ ...place.env, SANDBOX: 'no' })
  assert.equal(exitCode, 1)
  assert.match(stderr, /SANDBOX must be true or false/)
})
