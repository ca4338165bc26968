import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeAuthority, writeIdentity } from '../support/certificates.ts'
import { makeMigratedFolder, startProgram } from '../support/process.ts'
import { tlsEnvironment } from '../support/tls-service.ts'
import { pinfold } from './run-pinfold.ts'

test('a listener that requires certificates is reached with one, and by every kind of command', async () => {
  const folder = await makeMigratedFolder()
  const authority = await makeAuthority()
  const listeners = await tlsEnvironment(folder, authority, '127.0.0.1')
  await startProgram({ dataDir: folder, env: listeners })
  const own = await writeIdentity(folder, 'operator', await authority.issue('operator.test'))
  const other = await writeIdentity(folder, 'other', await authority.issue('other.test'))
  const trusting = { DATA_DIR: folder, NODE_EXTRA_CA_CERTS: listeners.TLS_CLIENT_CA_FILE ?? '' }
  const presenting = {
    ...trusting,
    PINFOLD_CERT_FILE: own.certFile,
    PINFOLD_KEY_FILE: own.keyFile,
  }
  for (const words of ['products list', 'keys list', 'cards list']) {
    const { code, stderr } = await pinfold(presenting, ...words.split(' '))
    assert.equal(code, 0, stderr)
  }
  const without = await pinfold(trusting, 'products', 'list')
  assert.equal(without.code, 3, without.stderr)
  const halves = { ...trusting, PINFOLD_CERT_FILE: own.certFile }
  for (const env of [halves, { ...halves, PINFOLD_KEY_FILE: other.keyFile }]) {
    const refused = await pinfold(env, 'products', 'list')
    assert.deepEqual([refused.code, /PINFOLD_|its key/.test(refused.stderr)], [2, true])
  }
})
