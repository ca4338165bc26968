import assert from 'node:assert/strict'
import type { FeedEvent } from './producer.ts'
import type { Received } from './receiver.ts'

/** What a receiver got, held against what was told. */

export type Journal = {
  /** Notes what came in, and whether it was accepted. */
  note: (received: Received, isAccepted: boolean) => void
  acceptedCount: () => number
  /** Each event at least once, each card's in order, nothing that was not told. */
  check: (told: readonly FeedEvent[]) => { received: number; accepted: number; again: number }
}

export const openJournal = (): Journal => {
  const notes: { id: string; card: string; sequence: number; isAccepted: boolean }[] = []
  const accepted = new Set<string>()
  return {
    note: ({ id, message }, isAccepted) => {
      if (isAccepted) accepted.add(id)
      const { publicToken, sequence } = message.data
      notes.push({ id, card: String(publicToken), sequence: Number(sequence), isAccepted })
    },
    acceptedCount: () => accepted.size,
    check: (told) => {
      const known = new Map(
        told.map(({ data, id }) => [id, `${data.publicToken} ${data.sequence}`]),
      )
      const received = new Map<string, number>()
      for (const { card, id, isAccepted, sequence } of notes) {
        assert.equal(known.get(id), `${card} ${sequence}`, 'only what was told')
        const before = received.get(card) ?? 0
        assert.ok(sequence <= before + 1, `${card}: ${sequence} came before ${before + 1}`)
        if (isAccepted) received.set(card, Math.max(before, sequence))
      }
      assert.equal(accepted.size, told.length, 'none is lost')
      const acceptedNotes = notes.filter(({ isAccepted }) => isAccepted).length
      return {
        received: notes.length,
        accepted: acceptedNotes,
        again: acceptedNotes - accepted.size,
      }
    },
  }
}
