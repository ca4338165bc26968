import { WaitingApprovalsSchema } from '../listeners/private/schemas/approvals.ts'
import type { Visit } from './screen.ts'

/**
 * Counts the approvals that wait for this person. None for people who may not approve, and while
 * they cannot be counted.
 */
export async function readWaitingCount({
  read,
  scopes,
}: Pick<Visit, 'read' | 'scopes'>): Promise<number> {
  if (!scopes.has('approve')) return 0
  const waiting = await read('/approvals/waiting', WaitingApprovalsSchema).catch(() => null)
  return waiting?.count ?? 0
}

/** Whether a person has a scope that the request needs, and may approve. */
export function mayApprove(
  { scopes }: Pick<Visit, 'scopes'>,
  approval: { readonly scopes: readonly string[] },
): boolean {
  const held: ReadonlySet<string> = scopes
  return held.has('approve') && approval.scopes.some((scope) => held.has(scope))
}
