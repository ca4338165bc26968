import type { Act, Screen } from './screen.ts'
import { homeScreen } from './screens/home.ts'

/** Every screen, in the order of the navigation. */
export const screens: readonly Screen[] = [homeScreen]

/** Every act of a form. */
export const acts: readonly Act[] = []
