import { styleText } from 'node:util'
import { processEnvironment } from '../../config.ts'
import type { Finding } from '../../service/doctor/finding.ts'
import type { Command } from '../command.ts'
import { exitCodes } from '../failed.ts'

export const doctorCommand: Command = {
  words: 'doctor',
  summary: 'looks at configuration, files, database, HSM, clock and listeners, and says what to do',
  description:
    'It changes nothing, and works beside a server that runs. With a PKCS#11 token it logs in once, so a\nwrong PIN costs the token one try. Exits with 1 where there is a fault; a warning alone is no fault.',
  example: 'SANDBOX=false DATABASE_URL=postgres://… pinfold doctor',
  async run() {
    const { examine } = await import('../../service/doctor/examine.ts')
    const findings = await examine(processEnvironment())
    const faults = findings.filter(({ verdict }) => verdict === 'fault').length
    const json = { healthy: faults === 0, faults, findings }
    const text = [...findings.map(told), '', summaryOf(findings, faults)].join('\n')
    return { json, text, exitCode: faults === 0 ? exitCodes.done : exitCodes.refused }
  },
}

const marks = {
  good: () => styleText('green', 'good   '),
  warning: () => styleText('yellow', 'warning'),
  fault: () => styleText('red', 'FAULT  '),
}

function told({ check, found, remedy, verdict, why }: Finding): string {
  const line = `${marks[verdict]()}  ${check}: ${found}`
  return why === undefined ? line : `${line}\n         why   ${why}\n         do    ${remedy ?? ''}`
}

function summaryOf(findings: readonly Finding[], faults: number): string {
  const warnings = findings.filter(({ verdict }) => verdict === 'warning').length
  if (faults === 0 && warnings === 0) return 'Nothing is wrong.'
  return `${plural(faults, 'fault')}, ${plural(warnings, 'warning')}.`
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`
