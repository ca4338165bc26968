/** Receives the faults of the HSM. */
interface OutageObserver {
  readonly observe: { hsmFaulted(error: unknown): void }
}

/** Returns the HSM's answer, or null during an outage, which must never count as a wrong value. */
export async function callHsm<Answer>(
  { observe }: OutageObserver,
  ask: () => Promise<Answer>,
): Promise<Answer | null> {
  try {
    return await ask()
  } catch (error) {
    observe.hsmFaulted(error)
    return null
  }
}
