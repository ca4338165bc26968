import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { makeFolder } from '../support/process.ts'
import { until } from '../support/until.ts'
import { pinfold as runPinfold, startPinfold } from './run-pinfold.ts'
import { serveProgram } from './served-program.ts'

const cwd = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

test('a rule that follows events ends after its number of decisions, with its output', async () => {
  const program = await serveProgram()
  const file = join(await makeFolder(), 'rule.mjs')
  await writeFile(
    file,
    `export default () => ({ decision: 'decline', reason: 'suspected_fraud' })
     export const onEvent = () => undefined`,
  )
  const env = { PATH: process.env.PATH, DATA_DIR: program.dataDir }
  const pinfold = (...words: string[]) =>
    run(process.execPath, ['bin/pinfold.mjs', ...words], { cwd, env })
  await pinfold('decisions', 'endpoint', 'set')
  const listen = ['bin/pinfold.mjs', 'decisions', 'listen', '--exec', file, '--count', '2']
  const child = spawn(process.execPath, listen, { cwd, env })
  const exited = once(child, 'exit')
  let heard = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      heard += text
    })
  }
  await until(() => heard.includes('Waiting for requests') && heard.includes('Following'))
  await pinfold('decisions', 'endpoint', 'activate')
  const holder = ['--first-name', 'Ana', '--last-name', 'Lim', '--born', '1990-04-17']
  const home = ['--address', 'Calle Mayor 1', '--post-code', '28013', '--country', 'ESP']
  const created = await pinfold('cards', 'create', '--product', '1001', ...holder, ...home)
  const [card = ''] = /[1-9][0-9]{9}/.exec(created.stdout) ?? []
  const payment = ['--mode', 'ecommerce', '--amount', '10.00', '--currency', 'EUR']
  await pinfold('simulate', card, ...payment)
  await pinfold('simulate', card, ...payment)
  assert.deepEqual(await exited, [0, null], heard)
  assert.equal(heard.match(/decline suspected_fraud/g)?.length, 2, heard)
})

test('a rule and its follower of events outlast an absent server, also before the first event', async () => {
  const program = await serveProgram()
  const file = join(await makeFolder(), 'rule.mjs')
  await writeFile(
    file,
    `export default () => ({ decision: 'decline' })
     export const onEvent = ({ type }) => console.log('heard', type)`,
  )
  const env = { DATA_DIR: program.dataDir }
  await runPinfold(env, 'decisions', 'endpoint', 'set')
  const listening = startPinfold(env, ['decisions', 'listen', '--exec', file])
  const count = (pattern: RegExp) => listening.stderr().match(pattern)?.length ?? 0
  await until(() => count(/Waiting for requests/g) === 1 && count(/Following/g) === 1)
  await program.stop()
  // More failures than a command bears whose server was never there: six of each stream.
  const isOver = () => listening.child.exitCode !== null || count(/not followed/g) > 0
  await until(() => isOver() || count(/being opened again/g) >= 15)
  assert.ok(!isOver(), listening.stderr())
  const port = (url: string) => new URL(url).port
  const ports = { PORT: port(program.baseUrl), PRIVATE_PORT: port(program.privateUrl) }
  await serveProgram({ dataDir: program.dataDir, env: ports })
  await until(() => count(/Waiting for requests/g) === 2 && count(/Following/g) === 2)
  await runPinfold(env, 'decisions', 'endpoint', 'activate')
  await runPinfold(env, 'events', 'trigger', 'authorization.declined')
  await until(() => listening.stdout().includes('heard authorization.declined'))
  listening.child.kill()
  await listening.ended
})

test('an unusable answer of a rule, and a module that cannot be loaded, are named on one line', async () => {
  const program = await serveProgram()
  const folder = await makeFolder()
  const [file, broken] = [join(folder, 'rule.mjs'), join(folder, 'broken.mjs')]
  await writeFile(
    file,
    `export default ({ amounts }) =>
       amounts.hold.amount === 100 ? undefined : { decision: 'maybe' }`,
  )
  await writeFile(broken, 'export default (')
  const env = { DATA_DIR: program.dataDir }
  for (const each of [broken, join(folder, 'absent.mjs')]) {
    const { code, stderr } = await runPinfold(env, 'decisions', 'listen', '--exec', each)
    assert.equal(code, 2, stderr)
    assert.ok(stderr.startsWith(`${each} could not be loaded: `), stderr)
  }
  await runPinfold(env, 'decisions', 'endpoint', 'set')
  const listening = startPinfold(env, ['decisions', 'listen', '--exec', file, '--count', '2'])
  await until(() => listening.stderr().includes('Waiting for requests'))
  await runPinfold(env, 'decisions', 'endpoint', 'activate')
  const triggered = await runPinfold(env, 'events', 'trigger', 'card.created', '--json')
  const card = JSON.parse(triggered.stdout).publicToken
  for (const amount of ['1.00', '2.00']) {
    await runPinfold(env, 'simulate', card, '--mode', 'ecommerce', '--amount', amount)
  }
  const lines = (await listening.ended).stdout.trim().split('\n')
  assert.equal(lines.length, 2, lines.join('\n'))
  assert.match(lines[0] ?? '', / 100 EUR .*the rule returned no object, such as/)
  assert.match(lines[1] ?? '', / 200 EUR .*not valid\. \/decision must be one of approve, decline/)
})
