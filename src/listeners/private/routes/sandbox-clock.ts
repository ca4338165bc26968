import Type from 'typebox'
import type { Answer, RepeatableRequest } from '../../../operations/idempotency/idempotency.ts'
import { answerOf, repeatable } from '../../http/repeatable.ts'
import { closed } from '../../http/validation.ts'
import { admin, adminChange, type PrivateApi } from '../api.ts'

/** The sandbox's clock, as this listener moves it. */
export interface SandboxClock {
  now(): Date
  /**
   * Moves it forward and lets everything due happen.
   * @throws `Problem` `validation_failed` if that would be back.
   */
  moveTo(instant: Date, request: RepeatableRequest | null): Promise<Answer<{ now: string }>>
}

const ClockSchema = Type.Object({ now: Type.String({ format: 'date-time' }) })

/** There is a movable clock in the sandbox only. */
export function sandboxClockRoutes({ app }: Pick<PrivateApi, 'app'>, clock: SandboxClock): void {
  const path = '/sandbox/clock'
  const tags = ['Sandbox']
  const read = {
    operationId: 'readClock',
    summary: "Read the sandbox's clock",
    tags,
    response: { 200: ClockSchema },
  }
  app.get(path, { config: admin, schema: read }, async () => ({ now: clock.now().toISOString() }))
  app.post(
    path,
    {
      config: adminChange,
      schema: {
        operationId: 'moveClock',
        summary: "Move the sandbox's clock forward",
        description: 'And let everything due happen.',
        tags,
        body: Type.Object(
          { now: Type.String({ format: 'instant', examples: ['2030-12-01T00:00:00Z'] }) },
          closed,
        ),
        response: { 200: ClockSchema },
      },
    },
    async (request, reply) =>
      answerOf(reply, await clock.moveTo(new Date(request.body.now), repeatable(request))),
  )
}
