import { generateKeyPair } from 'node:crypto'

/**
 * Generates an RSA key and writes it to standard output: PKCS#8 in DER. It is a separate program,
 * because the generation cannot be interrupted and the service must not wait for it to end.
 */

// Standard input ends when the parent process ends.
process.stdin.resume().once('end', () => process.kill(process.pid, 'SIGKILL'))

const options = { modulusLength: 4096, publicExponent: 65_537 }

generateKeyPair('rsa', options, (error, _, privateKey) => {
  if (error) throw error
  const bytes = privateKey.export({ format: 'der', type: 'pkcs8' })
  process.stdout.end(bytes, () => process.exit(0))
})
