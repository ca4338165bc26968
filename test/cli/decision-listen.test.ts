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
