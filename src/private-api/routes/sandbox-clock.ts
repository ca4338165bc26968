import Type from 'typebox'
import { validationFailed } from '../../errors.ts'
import type { Server } from '../../http/server.ts'

/** The sandbox's clock, as this listener moves it. */
export interface SandboxClock {
  now(): Date
  /** Moves it forward and lets everything due happen. @returns false, if that would be back. */
  moveTo(instant: Date): Promise<boolean>
}

const ClockSchema = Type.Object({ now: Type.String({ format: 'date-time' }) })

/** There is a movable clock in the sandbox only. */
export function sandboxClockRoutes(app: Server['app'], clock: SandboxClock): void {
  const path = '/sandbox/clock'
  const told = () => ({ now: clock.now().toISOString() })
  app.get(
    path,
    { config: { access: 'admin' }, schema: { response: { 200: ClockSchema } } },
    async () => told(),
  )
  app.post(
    path,
    {
      config: { access: 'admin', bodyRequired: true },
      schema: {
        body: Type.Object(
          { now: Type.String({ format: 'instant', examples: ['2030-12-01T00:00:00Z'] }) },
          { additionalProperties: false },
        ),
        response: { 200: ClockSchema },
      },
    },
    async (request) => {
      if (await clock.moveTo(new Date(request.body.now))) return told()
      throw validationFailed({ pointer: '/now', detail: `must not be before ${told().now}` })
    },
  )
}
