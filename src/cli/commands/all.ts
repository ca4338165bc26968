import type { Command } from '../command.ts'
import { cardCommands } from './cards.ts'
import { clientCommands } from './clients.ts'
import { doctorCommand } from './doctor.ts'
import { eventsCommand } from './events.ts'
import { migrateCommand } from './migrate.ts'
import { productCommands } from './products.ts'
import { simulateCommand } from './simulate.ts'
import { startCommand } from './start.ts'
import { zoneCommands } from './zones.ts'

/** Every command of this room, in the order of the help. */
export const commands: readonly Command[] = [
  startCommand,
  doctorCommand,
  migrateCommand,
  ...productCommands,
  ...clientCommands,
  ...zoneCommands,
  ...cardCommands,
  simulateCommand,
  eventsCommand,
]
