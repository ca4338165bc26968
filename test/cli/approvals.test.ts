/** Approvals on the command line, against a program that listens. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { askToken } from '../support/process.ts'
import { type Ended, pinfold } from './run-pinfold.ts'
import { type ServedProgram, serveProgram } from './served-program.ts'

let program: ServedProgram
let env: Record<string, string>

before(async () => {
  program = await serveProgram({ env: { LINK_PORT: '0', APPROVALS: 'erasure,disclosure-scopes' } })
  env = { DATA_DIR: program.dataDir, LINK_PORT: '0' }
  // Scopes are taken away by one person. That one of them is given again needs two.
  const fewer = await run('clients', 'change', 'demo-client', '--scopes', 'pin.write')
  assert.equal(fewer.code, 0, fewer.stderr)
})

const run = (...words: string[]): Promise<Ended> => pinfold(env, ...words)

const ask = async (): Promise<string> => {
  const change = ['clients', 'change', 'demo-client', '--scopes', 'pin.reveal,pin.write']
  const { code, stderr, stdout } = await run(...change, '--reason', 'Ticket 4711', '--json')
  assert.equal(code, 4, stderr)
  assert.match(
    stderr,
    /It waits for the approval of another person: pinfold approvals show [0-9a-f-]{36}/,
  )
  return JSON.parse(stdout).approvalId
}

test('a command that needs another person says so, and what it asked for can be seen and withdrawn', async () => {
  const approvalId = await ask()
  const listed = await run('approvals', 'list', '--state', 'waiting')
  assert.equal(listed.code, 0, listed.stderr)
  assert.match(
    listed.stdout,
    new RegExp(
      `${approvalId} +waiting +disclosure-scopes +PATCH /clients/demo-client .* Ticket 4711`,
    ),
  )
  const shown = await run('approvals', 'show', approvalId, '--json')
  const approval = JSON.parse(shown.stdout)
  assert.deepEqual(JSON.parse(approval.payload).body, {
    scopes: ['pin.reveal', 'pin.write'],
    reason: 'Ticket 4711',
  })
  const withdrawn = await run('approvals', 'withdraw', approvalId)
  assert.equal(withdrawn.code, 0, withdrawn.stderr)
  assert.match(withdrawn.stdout, /state +withdrawn/)
  const waiting = await run('approvals', 'list', '--state', 'waiting', '--json')
  assert.deepEqual(JSON.parse(waiting.stdout), [])
})

test('an administrator’s client approves nothing, with whatever it proves itself', async () => {
  const approvalId = await ask()
  const { payloadHash } = JSON.parse((await run('approvals', 'show', approvalId, '--json')).stdout)
  const own = await run('approvals', 'approve', approvalId, '--payload-hash', payloadHash)
  assert.equal(own.code, 1)
  assert.match(own.stderr, /The scope approve is needed/)
  const known = JSON.parse(await readFile(join(program.dataDir, 'sandbox.json'), 'utf8'))
  const sandbox = { ...known, ...known.admin, scope: known.admin.scope ?? 'admin' }
  const token = await askToken(sandbox)
  const asPerson = (...words: string[]) =>
    pinfold({ ...env, PINFOLD_PERSON_TOKEN: token }, ...words, '--as-person')
  const again = await asPerson('approvals', 'approve', approvalId, '--payload-hash', payloadHash)
  assert.equal(again.code, 1, again.stdout)
  assert.match(again.stderr, /The scope approve is needed/)
  const refused = await asPerson('approvals', 'refuse', approvalId, '--reason', 'No')
  assert.equal(refused.code, 1)
  const broken = await asPerson('approvals', 'break-glass', approvalId, '--reason', 'No')
  assert.equal(broken.code, 1)
  const shown = await asPerson('approvals', 'show', approvalId, '--json')
  assert.equal(JSON.parse(shown.stdout).state, 'waiting')
})

test('an approval needs the hash that was seen, and a refusal its reason', async () => {
  const id = '0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11'
  const none = await run('approvals', 'approve', id)
  assert.deepEqual([none.code, /--payload-hash is missing/.test(none.stderr)], [2, true])
  const noReason = await run('approvals', 'refuse', id)
  assert.equal(noReason.code, 2)
})
