import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { answerPing } from '../operations/decisions/endpoint-service.ts'
import { openDecisionEndpoint } from '../support/decision-endpoint.ts'
import { pinfold } from './run-pinfold.ts'
import { serveProgram } from './served-program.ts'

let env: Record<string, string>

before(async () => {
  env = { DATA_DIR: (await serveProgram()).dataDir }
})

test('an endpoint is registered, activated, rolled back and removed from the command line', async () => {
  const { url } = await openDecisionEndpoint(answerPing)
  const run = (...words: string[]) => pinfold(env, 'decisions', 'endpoint', ...words)
  const set = await run('set', '--endpoint-url', url)
  assert.equal(set.code, 0, set.stderr)
  assert.match(set.stdout, /draft +version 1: http.*, 1500 ms, 100%/)
  assert.match(set.stdout, /Not in force yet. Next: pinfold decisions endpoint activate$/m)
  assert.match(set.stdout, /shown only now: whsec_/)
  assert.match((await run('activate')).stdout, /enforced +version 1/)
  await run('set', '--endpoint-url', url, '--sample', '10', '--on-error', 'approve')
  assert.match(
    (await run('activate')).stdout,
    /enforced +version 2: .* 10%\n[\s\S]*previous +version 1/,
  )
  const all = ['--max-in-flight', '7', '--mode', 'shadow', '--on-timeout', 'rule', '--rule', 'true']
  const shown = (await run('set', '--endpoint-url', url, ...all)).stdout
  assert.match(shown, /shadow, format pinfold, at most 7 in flight/)
  assert.match(shown, /fallback: rule on time-out, decline on error\n +rule: true/)
  const back = await run('rollback', '--json')
  assert.equal(JSON.parse(back.stdout).enforced.version, 1)
  const rotated = await run('rotate-secret')
  assert.equal(rotated.stdout.match(/^key /gm)?.length, 2)
  assert.doesNotMatch((await run('show')).stdout, /whsec_/)
  assert.match((await run('remove')).stdout, /The endpoint is no longer in force/)
  const gone = await run('activate', '--product', '1001')
  assert.equal(gone.code, 1)
  const wrong = await run('set', '--endpoint-url', url, '--timeout-ms', '5000')
  assert.match(wrong.stderr, /--timeout-ms must be 2500 or less/)
})
