/** What somebody did to a client that lets them act for it, or that says that they cannot. */
export interface ProvenanceAct {
  /**
   * `created`: registered it; `credentials_set`: gave it its secret, keys or access; `confirmed`: made sure
   * that its credentials are held by the one it stands for, and by nobody else.
   */
  readonly act: 'created' | 'credentials_set' | 'confirmed'
  readonly by: string
  /** Everybody who could have acted for that one then, itself among them. */
  readonly controlledBy: readonly string[]
}

/**
 * Every administrator who alone could act for a client: itself; and who registered it, gave it credentials,
 * or could have acted for one who did. A confirmation takes away all of these who could not have acted for
 * the one who confirmed, too: alone they cannot have made it up.
 */
export function controllersOf(
  clientId: string,
  provenance: readonly ProvenanceAct[],
): readonly string[] {
  const confirmations = provenance.filter(({ act }) => act === 'confirmed')
  const givers = provenance.filter(({ act }) => act !== 'confirmed')
  const others = givers
    .flatMap(({ controlledBy }) => controlledBy)
    .filter((id) => confirmations.every(({ controlledBy }) => controlledBy.includes(id)))
  return [...new Set([clientId, ...others])].sort()
}

/** Who registered a client, null where it comes from the configuration, and who confirmed it. */
export const originOf = (provenance: readonly ProvenanceAct[]) => ({
  createdBy: provenance.find(({ act }) => act === 'created')?.by ?? null,
  confirmedBy: provenance.filter(({ act }) => act === 'confirmed').map(({ by }) => by),
})
