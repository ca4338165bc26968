import { writeTimeOfDay } from './local-time.ts'

/** The outcome of the last request for changes. */
type Outcome = 'current' | 'unreachable' | 'signed-out'

/** When the page was last known to be current. */
let currentAt = new Date()

/** Says below the title when the live parts were last updated, or why they are not. */
export function showLiveState(outcome: Outcome): void {
  const line = document.querySelector<HTMLElement>('.live-state')
  if (!line) return
  if (line.childElementCount === 0) line.append(...createParts())
  const [time, fault] = [...line.children]
  if (!time || !fault) return
  line.hidden = false
  if (outcome === 'current') currentAt = new Date()
  time.textContent = `Updated ${writeTimeOfDay(currentAt)}`
  const text = faults[outcome]
  // The same text again would be read aloud again.
  if (fault.textContent !== text) fault.textContent = text
}

const faults: Readonly<Record<Outcome, string>> = {
  current: '',
  unreachable: 'The service does not answer. What you see may be old. The page keeps trying.',
  'signed-out': 'You are signed out. Load the page to sign in again.',
}

/** The time changes often and is not read aloud, unlike a fault. */
function createParts(): HTMLElement[] {
  const time = document.createElement('span')
  const fault = document.createElement('span')
  fault.setAttribute('role', 'status')
  return [time, fault]
}
