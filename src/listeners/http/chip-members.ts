import Type from 'typebox'
import { chipCommandStates, chipCommands, chipUpdates } from '../../domain/chip-command.ts'

const instant = Type.String({ format: 'date-time' })
export const commandNumber = Type.Integer({
  description: 'The `sequence` of the event that reports the queueing; tag 9F18 in messages.',
  examples: [7],
})

export const CardChipSchema = Type.Object({
  chipUpdate: Type.Enum([...chipUpdates], {
    description: 'Whether the chip has the latest change of the PIN, as the status of the PIN.',
  }),
  chips: Type.Array(
    Type.Object({
      panSequenceNumber: Type.String({ examples: ['00'] }),
      highestAtc: Type.Integer({ description: 'The highest transaction counter.', examples: [12] }),
      keyVersion: Type.Integer({ examples: [1] }),
      remainingOfflineTries: Type.Optional(
        Type.Integer({ description: 'Of the PIN in the chip, if it has reported it.' }),
      ),
      reportedAt: Type.Optional(instant),
    }),
  ),
  commands: Type.Array(
    Type.Object({
      commandNumber,
      command: Type.Enum([...chipCommands]),
      state: Type.Enum([...chipCommandStates]),
      panSequenceNumber: Type.Optional(
        Type.String({
          description: 'The chip that it is for, or that an answer carried it to.',
          examples: ['00'],
        }),
      ),
      tag: Type.Optional(Type.String({ examples: ['9F58'] })),
      queuedAt: instant,
      sentCount: Type.Integer({ description: 'How many answers carried it.' }),
      sentAt: Type.Optional(instant),
      endedAt: Type.Optional(instant),
    }),
  ),
})
