import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { serveProgram } from '../cli/served-program.ts'
import { makeFolder } from '../support/process.ts'
import { until } from '../support/until.ts'

const project = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

let listener: ChildProcess | undefined
const stopListener = async () => {
  if (!listener || listener.exitCode !== null || listener.signalCode !== null) return
  const ended = once(listener, 'exit')
  listener.kill('SIGKILL')
  await ended
}
after(stopListener)

test('by the guide, a balance on this machine decides, and gives back what ends', async () => {
  const program = await serveProgram()
  const folder = await makeFolder()
  const env = {
    PATH: process.env.PATH,
    DATA_DIR: program.dataDir,
    BALANCE_FILE: join(folder, 'balance.db'),
  }
  const toWords = (command: string): string =>
    command.replaceAll('npx pinfold', `exec "${process.execPath}" bin/pinfold.mjs`)
  const sh = async (command: string): Promise<string> => {
    const { stdout } = await run('bash', ['-c', toWords(command)], { cwd: project, env })
    return stdout
  }
  const guide = await readFile(join(project, 'docs/guides/approve-payments-yourself.md'), 'utf8')
  const commands = [...guide.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, text = '']) =>
    text
      .replaceAll('\\\n', ' ')
      .split('\n')
      .filter((line) => line !== ''),
  )
  const [set = '', listen = '', activate = '', create = '', first = '', second = '', list = ''] =
    commands
  const [setRule = '', activateRule = '', remove = ''] = commands.slice(7)

  await sh(set)
  let heard = ''
  const startListener = async () => {
    heard = ''
    const child = spawn('bash', ['-c', toWords(listen)], { cwd: project, env })
    listener = child
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        heard += text
      })
    }
    await until(() => heard.includes('Waiting for requests'))
  }
  await startListener()
  await sh(activate)
  const [card = ''] = /[1-9][0-9]{9}/.exec(await sh(create)) ?? []
  const pay = (command: string) => sh(`${command.replace('CARD', card)} --json`)
  const paid = JSON.parse(await pay(first))
  assert.equal(paid.responseCode, '00', heard)
  assert.equal(JSON.parse(await pay(second)).responseCode, '51', heard)
  assert.match(await sh(list), /decline insufficient_funds by endpoint[\s\S]*approve by endpoint/)

  const { authorizationId, decisionId } = JSON.parse(
    await sh('npx pinfold decisions list --decided-by endpoint --limit 1 --json'),
  )[0]
  assert.match(
    await sh(`npx pinfold authorizations show ${authorizationId}`),
    /decision failed \(endpoint: insufficient_funds\)/,
  )
  // A replay has an id of its own: the amount that the first payment took counts against it.
  const past = JSON.parse(await sh('npx pinfold decisions list --limit 2 --json'))
  const approved = past.find((each: { decisionId: string }) => each.decisionId !== decisionId)
  const retried = await sh(`${listen} --replay ${approved.decisionId}`)
  assert.match(retried, /was approve {2}decline insufficient_funds/)

  // A void gives the amount back: then the second payment is covered.
  const token = await program.token()
  const [payment] = (await program.call('GET', '/payments', { token })).json
  const body = { publicToken: card, paymentId: payment.paymentId, messageKey: 'void-1' }
  const reversed = await program.call('POST', '/simulator/reversals', { token, body })
  assert.equal(reversed.status, 200, reversed.text)
  await until(async () => JSON.parse(await pay(second)).responseCode === '00', 20_000)

  await stopListener()
  assert.equal(JSON.parse(await pay(second)).responseCode, '91')

  await startListener()
  await sh(setRule)
  await sh(activateRule)
  await stopListener()
  assert.equal(JSON.parse(await pay(second)).responseCode, '05')
  assert.equal(JSON.parse(await pay(second.replace('60.00', '20.00'))).responseCode, '00')

  await sh(remove)
  assert.equal(JSON.parse(await pay(second)).responseCode, '00', 'the checks alone decide again')
})
