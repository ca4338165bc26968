import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startProgram } from '../support/process.ts'

const run = promisify(execFile)
const script = fileURLToPath(
  new URL('../../examples/moving-over/cards-client.mjs', import.meta.url),
)

test('a client written for a Thredd-shaped API passes when its base URL alone is changed', async () => {
  const program = await startProgram({ env: { PROCESSOR_PATH: 'thredd' } })
  const { clientId, clientSecret } = program.sandbox
  const { stdout } = await run(process.execPath, [script], {
    env: {
      PATH: process.env.PATH,
      BASE_URL: program.baseUrl,
      CLIENT_ID: clientId,
      CLIENT_SECRET: clientSecret,
    },
  })
  const steps = stdout.trimEnd().split('\n')
  assert.equal(steps.length, 8, stdout)
  assert.ok(
    steps.every((step) => step.startsWith('ok  ')),
    stdout,
  )
})
