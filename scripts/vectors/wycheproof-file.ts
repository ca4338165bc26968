import { createPrivateKey } from 'node:crypto'
import { isObject } from './inputs.ts'
import type { VectorFile, VectorRow } from './vector-file.ts'

/**
 * Reads a file of Project Wycheproof as it is published (`rsaes_oaep_decrypt_schema_v1.json`, by hand
 * from the project: it does not lie here); null if the content is none.
 */
export function readWycheproofFile(content: Readonly<Record<string, unknown>>): VectorFile | null {
  const { schema, testGroups } = content
  if (typeof schema !== 'string' || !schema.startsWith('rsaes_oaep_decrypt_schema')) return null
  if (!Array.isArray(testGroups)) return null
  const groups = testGroups.filter(isObject)
  return {
    primitive: `${content.algorithm} of Project Wycheproof`,
    rows: groups.flatMap(rowsOf),
    malformed: [],
  }
}

function rowsOf({ tests, sha, mgfSha, privateKeyPkcs8 }: Readonly<Record<string, unknown>>) {
  const der = Buffer.from(String(privateKeyPkcs8), 'hex')
  const jwk = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ format: 'jwk' })
  const hashes = [sha, mgfSha].join(' and ')
  // Other hashes than ours are named as skipped.
  const op = hashes === 'SHA-256 and SHA-256' ? 'rsaOaepDecrypt' : `rsaOaepDecrypt with ${hashes}`
  return (Array.isArray(tests) ? tests : []).filter(isObject).map(
    (test): VectorRow => ({
      id: `tcId ${test.tcId}`,
      name: String(test.comment),
      op,
      inputs: { jwk, ciphertext: test.ct, label: test.label },
      expected: test.result === 'valid' ? { message: test.msg } : { error: String(test.flags) },
      provenance: 'published',
    }),
  )
}
