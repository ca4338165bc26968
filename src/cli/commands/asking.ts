import type { Call } from '../command.ts'
import type { Role } from '../reach/credentials.ts'
import { reach } from '../reach/reach.ts'
import type { Reached } from '../reach/reached.ts'

/** Does the work with a service that is let go of afterwards. */
async function withService<Result>(
  { options }: Call,
  role: Role,
  work: (service: Reached) => Promise<Result>,
): Promise<Result> {
  const service = await reach(options, role)
  try {
    return await work(service)
  } finally {
    await service.close()
  }
}

/** On the private listener, as the administrator. */
export const asAdministrator = <Result>(
  call: Call,
  work: (service: Reached) => Promise<Result>,
): Promise<Result> => withService(call, 'admin', work)

/** On the public listener, as a client system. */
export const asClient = <Result>(
  call: Call,
  work: (service: Reached) => Promise<Result>,
): Promise<Result> => withService(call, 'client', work)
