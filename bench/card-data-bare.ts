/**
 * Measures the private-key operations of one reveal, per second of processor time:
 * `{"deviceKey","sessionKey"}`.
 */
import {
  constants,
  diffieHellman,
  generateKeyPairSync,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
  sign,
} from 'node:crypto'

const durationMs = 2_000

function perSecond(work: () => void): number {
  for (let warm = 0; warm < 20; warm += 1) work()
  const before = process.cpuUsage()
  const workedMs = () => {
    const { system, user } = process.cpuUsage(before)
    return (system + user) / 1_000
  }
  let count = 0
  while (workedMs() < durationMs) {
    work()
    count += 1
  }
  return (count * 1_000) / workedMs()
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 4096 })
const oaep = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }
const wrapped = publicEncrypt({ key: rsa.publicKey, ...oaep }, randomBytes(32))
const pss = { key: rsa.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }
const payload = randomBytes(144)

const device = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const signing = generateKeyPairSync('ec', { namedCurve: 'P-256' })

console.log(
  JSON.stringify({
    // Decrypt the session key, sign the answer.
    sessionKey: perSecond(() => {
      privateDecrypt({ key: rsa.privateKey, ...oaep }, wrapped)
      sign('sha256', payload, pss)
    }),
    // Generate a key pair, agree with the device's, sign the answer.
    deviceKey: perSecond(() => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      diffieHellman({ privateKey, publicKey: device.publicKey })
      sign('sha256', payload, { key: signing.privateKey, dsaEncoding: 'ieee-p1363' })
    }),
  }),
)
