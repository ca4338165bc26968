import { type ApprovalKind, approvalKinds, isApprovalKind } from '../../domain/approval.ts'
import type { VariableReader } from './variables.ts'

/** The acts of this installation that need an approval. */
export interface ApprovalConfig {
  readonly required: ReadonlySet<ApprovalKind>
  /**
   * The maximum number of cards that one operator unblocks in bulk in an hour without an approval.
   */
  readonly unblockCardsMost: number
  /** Whether a client from the configuration may request acts that need an approval. */
  readonly takesFirstAdministrators: boolean
}

const kinds = Object.keys(approvalKinds).filter(isApprovalKind)

/**
 * Reads which acts need an approval. The default in the sandbox is none. The default in production
 * is all of them where people can sign in, and none otherwise, since no person could approve an
 * act.
 */
export function readApprovals(read: VariableReader, isSandbox: boolean): ApprovalConfig {
  const unblockCardsMost = read.integer('APPROVALS_UNBLOCK_CARDS', 10, 1, 1_000)
  const takesFirstAdministrators =
    read.parseChoice(
      'APPROVALS_FIRST_ADMINISTRATORS',
      ['ask', 'refuse'],
      isSandbox ? 'ask' : 'refuse',
    ) === 'ask'
  const hasPeople = isSandbox || read.text('CONSOLE_ISSUER') !== null
  const text = read.text('APPROVALS') ?? (isSandbox || !hasPeople ? 'none' : 'all')
  const names = text.split(',').map((name) => name.trim())
  const named = names.filter(isApprovalKind)
  const isWhole = text === 'all' || text === 'none'
  if (!isWhole && named.length < names.length) {
    read.faults.push(`APPROVALS must be all, none, or a list of ${kinds.join(',')}.`)
  }
  const required = new Set(text === 'all' ? kinds : named)
  if (required.size > 0 && !hasPeople) {
    read.faults.push(
      'APPROVALS must be combined with CONSOLE_ISSUER: only people approve, and the issuer ' +
        'authenticates them.',
    )
  }
  return { required, unblockCardsMost, takesFirstAdministrators }
}

/**
 * Lists the acts that need no approval although another person could approve them: in production
 * with operators.
 */
export function approvalsLeftOut(
  {
    approvals: { required },
    sandbox,
  }: { readonly approvals: ApprovalConfig; readonly sandbox: boolean },
  read: VariableReader,
): readonly ApprovalKind[] {
  const couldBe = sandbox || read.text('CONSOLE_ISSUER') === null ? [] : kinds
  return couldBe.filter((kind) => !required.has(kind))
}
