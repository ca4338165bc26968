import Type, { type Static } from 'typebox'
import { ListedApprovalSchema } from '../listeners/private/schemas/approvals.ts'
import type { Visit } from './screen.ts'

const WaitingApprovalsSchema = Type.Array(ListedApprovalSchema)

/** More than these are not counted. */
export const waitingMost = 100

/**
 * Lists the approvals that wait for this person: requests of others whose act the person may do.
 * Empty for people who may not approve, and while the list cannot be read.
 */
export async function listWaitingApprovals({
  person,
  read,
  scopes,
}: Pick<Visit, 'person' | 'read' | 'scopes'>): Promise<Static<typeof WaitingApprovalsSchema>> {
  if (!scopes.has('approve')) return []
  const address = `/approvals?state=waiting&limit=${waitingMost}`
  const waiting = await read(address, WaitingApprovalsSchema).catch(() => [])
  return waiting.filter(
    (approval) => approval.requestedBy.id !== person.personId && mayApprove({ scopes }, approval),
  )
}

/** Whether a person has a scope that the request needs, and may approve. */
export function mayApprove(
  { scopes }: Pick<Visit, 'scopes'>,
  approval: { readonly scopes: readonly string[] },
): boolean {
  const held: ReadonlySet<string> = scopes
  return held.has('approve') && approval.scopes.some((scope) => held.has(scope))
}
