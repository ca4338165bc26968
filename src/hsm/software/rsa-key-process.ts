import { generateKeyPair } from 'node:crypto'

/**
 * Makes an RSA key and writes it to standard output: PKCS#8 in DER. A program of its own, because
 * the work cannot be broken off, and whoever started it must not have to wait for it to end.
 */

// Standard input ends when the one who started it does.
process.stdin.resume().once('end', () => process.kill(process.pid, 'SIGKILL'))

const options = { modulusLength: 4096, publicExponent: 65_537 }

generateKeyPair('rsa', options, (error, _, privateKey) => {
  if (error) throw error
  const bytes = privateKey.export({ format: 'der', type: 'pkcs8' })
  process.stdout.end(bytes, () => process.exit(0))
})
