import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { bareEnvironment, makeFolder, type Program, startProgram } from '../support/process.ts'

interface Run {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

const demo = fileURLToPath(new URL('../../scripts/demo.ts', import.meta.url))

/** What a demo is given that belongs to a program. */
const environmentOf = ({ baseUrl, dataDir, privateUrl }: Program): NodeJS.ProcessEnv => ({
  ...bareEnvironment,
  DATA_DIR: dataDir,
  PORT: new URL(baseUrl).port,
  PRIVATE_PORT: new URL(privateUrl).port,
})

const runDemo = (env: NodeJS.ProcessEnv): Promise<Run> =>
  new Promise((resolve) => {
    execFile(process.execPath, [demo], { env }, (error, stdout, stderr) => {
      resolve({ exitCode: error ? Number(error.code ?? 1) : 0, stdout, stderr })
    })
  })

let program: Program
before(async () => {
  program = await startProgram()
})

const isReady = (): Promise<boolean> =>
  fetch(`${program.privateUrl}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )

test('the demo walks the whole journey', async (t) => {
  const { exitCode, stderr, stdout } = await runDemo(environmentOf(program))
  await t.test('a running server is used, and goes on running', async () => {
    assert.equal(exitCode, 0, stdout + stderr)
    assert.match(stdout, /All \d+ answers are what the specification says/)
    assert.doesNotMatch(stdout, /a server started for it/)
    assert.equal(await isReady(), true)
  })
  await t.test('what it shows has no secret, no token and, off a terminal, no colour', () => {
    assert.match(stdout, /Basic demo-client:\*+\n/)
    for (const { clientSecret } of [program.sandbox, program.sandbox.otherClient]) {
      assert.equal(stdout.includes(clientSecret), false)
    }
    assert.doesNotMatch(stdout, /eyJ/)
    assert.equal(stdout.includes('\u001b'), false)
  })
})

test('without a server the demo starts one, walks the whole journey, and stops it', async () => {
  await program.kill('SIGTERM')
  const { exitCode, stderr, stdout } = await runDemo(environmentOf(program))
  assert.equal(exitCode, 0, stdout + stderr)
  assert.match(stdout, /a server started for it/)
  assert.equal(await isReady(), false)
})

test('a demo that is ended leaves no server behind', async () => {
  const child = spawn(process.execPath, [demo], { env: environmentOf(program) })
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  await once(child, 'exit')
  const deadline = Date.now() + 10_000
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
    ...program.sandbox,
    baseUrl: url,
    privateUrl: url,
    tokenEndpoint: `${url}/oauth/token`,
  }
  const dataDir = await makeFolder()
  await writeFile(join(dataDir, 'sandbox.json'), JSON.stringify(file))
  const { exitCode, stdout } = await runDemo({ ...environmentOf(program), DATA_DIR: dataDir })
  assert.equal(exitCode, 1)
  assert.match(stdout, /Not what the specification says/)
})

test('a demo of something that is no sandbox says so', async () => {
  const { exitCode, stderr } = await runDemo({ ...environmentOf(program), SANDBOX: 'no' })
  assert.equal(exitCode, 1)
  assert.match(stderr, /SANDBOX must be true or false/)
})
