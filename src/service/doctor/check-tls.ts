import { faultOfSecretFile } from '../../config/exposure.ts'
import type { TlsConfig } from '../../config/tls.ts'
import { openTlsFiles } from '../../config/tls-files.ts'
import { type Check, type Finding, fault, good, warning } from './finding.ts'

const dayMs = 24 * 3_600_000
const renewDays = 14

/** The certificates of the listeners: what is unfit in them is told with the configuration. */
export const checkTls: Check = async ({ config, now }) => {
  const listeners = [config.publicListener, config.privateListener]
  return listeners.flatMap(({ tls }) => (tls ? checkFiles(tls, config.sandbox, now()) : []))
}

/** Whether the key is its owner's alone, the table says of production. */
function checkFiles({ files }: TlsConfig, isSandbox: boolean, now: Date): Finding[] {
  const opened = openTlsFiles(files, now)
  const { path, variable } = files.key
  const findings: Finding[] = []
  if (isSandbox && faultOfSecretFile(path) !== null) {
    findings.push(
      fault(
        'tls',
        `${path}, the key that ${variable} names, can be read by others on this machine.`,
        'Whoever reads it can stand in for this service.',
        `chmod 600 ${path}; and have the certificate issued anew if anybody else has an account here.`,
      ),
    )
  }
  if ('material' in opened)
    findings.push(...judgeTime(files.certificate.variable, opened.material, now))
  return findings
}

function judgeTime(variable: string, { notAfter }: { notAfter: Date }, now: Date): Finding[] {
  const days = Math.floor((notAfter.getTime() - now.getTime()) / dayMs)
  if (days >= renewDays)
    return [good('tls', `The certificate of ${variable} holds for ${days} days.`)]
  return [
    warning(
      'tls',
      `The certificate of ${variable} ends in ${days} days, on ${notAfter.toISOString()}.`,
      'No client will call a service whose certificate has ended.',
      'Renew it, and put the new files in place: they are taken up without a restart.',
    ),
  ]
}
