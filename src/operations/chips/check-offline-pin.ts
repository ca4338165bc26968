import type { ChipReport } from '../../domain/chip-application-data.ts'
import type { ChipFinding } from '../../domain/chip-findings.ts'
import type { ChipCheck } from './presented-chip.ts'

/** Checks the reports of chip and terminal about the PIN in the chip. Without a PIN it is empty. */
export function checkOfflinePin(
  report: ChipReport,
  isBlocked: boolean,
  hasPinBlock: boolean,
): readonly ChipCheck[] {
  const check = 'offline_pin'
  const findings: ChipFinding[] = []
  if (report.isOfflinePinFailed) findings.push('offline_pin_failed')
  if (report.isOfflinePinBlocked || isBlocked) findings.push('offline_pin_blocked')
  if (findings.length === 0) {
    return report.isOfflinePinPerformed ? [{ check, result: 'passed' }] : []
  }
  const failed: ChipCheck = { check, result: 'failed', findings }
  return [isBlocked && !hasPinBlock ? { ...failed, responseCode: '75' } : failed]
}
