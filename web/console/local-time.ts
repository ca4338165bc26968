/** The clock in which times are shown: the reader's own, or UTC. */
type Clock = 'local' | 'utc'

const clocks: readonly Clock[] = ['local', 'utc']
const keptName = 'pinfold-clock'

/** Writes instants as the server does (src/console/desk-parts.ts). */
const composeFormats = (timeZone?: string) => {
  const zone = timeZone === undefined ? {} : { timeZone }
  const timeOfDay = {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    ...zone,
  } as const
  const day = { day: 'numeric', month: 'short', ...zone } as const
  return {
    time: new Intl.DateTimeFormat('en-GB', timeOfDay),
    day: new Intl.DateTimeFormat('en-GB', { ...day, year: 'numeric' }),
    short: new Intl.DateTimeFormat('en-GB', { ...day, ...timeOfDay }),
    withYear: new Intl.DateTimeFormat('en-GB', { ...day, ...timeOfDay, year: 'numeric' }),
  }
}

const formats: Readonly<Record<Clock, ReturnType<typeof composeFormats>>> = {
  local: composeFormats(),
  utc: composeFormats('UTC'),
}
const localZone = new Intl.DateTimeFormat().resolvedOptions().timeZone

const isReaderInUtc = (): boolean => new Date().getTimezoneOffset() === 0

/** Storage may be refused to a page. The clock then holds for this page. */
function readClock(): Clock {
  try {
    return localStorage.getItem(keptName) === 'utc' ? 'utc' : 'local'
  } catch {
    return 'local'
  }
}

function storeClock(clock: Clock): void {
  try {
    localStorage.setItem(keptName, clock)
  } catch {
    // The choice holds for this page only.
  }
}

let shownClock = readClock()

/**
 * Shows each instant in the chosen clock, and in the other one under the pointer. The server
 * writes UTC, which stays as it is for readers in UTC.
 */
export function showLocalTimes(root: ParentNode): void {
  if (isReaderInUtc()) return
  for (const time of root.querySelectorAll<HTMLTimeElement>('time[datetime*="T"]')) {
    const at = new Date(time.dateTime)
    if (Number.isNaN(at.getTime())) continue
    const thisYear = new Date().getFullYear()
    const name = at.getFullYear() === thisYear ? 'short' : 'withYear'
    const texts: Readonly<Record<Clock, string>> = {
      local: formats.local[name].format(at),
      utc: `${formats.utc[name].format(at)} UTC`,
    }
    const isTimeOnly = time.dataset.inRow !== undefined && isToday(at, shownClock)
    time.textContent = isTimeOnly ? writeTimeOfDay(at) : texts[shownClock]
    time.title = shownClock === 'local' ? texts.utc : `${texts.local} (${localZone})`
  }
}

const isToday = (at: Date, clock: Clock): boolean =>
  formats[clock].day.format(at) === formats[clock].day.format(new Date())

/** Returns the time of day in the chosen clock. */
export const writeTimeOfDay = (at: Date): string =>
  `${formats[shownClock].time.format(at)}${shownClock === 'utc' ? ' UTC' : ''}`

/** Lets the reader choose the clock. The switch is hidden without script and for readers in UTC. */
export function openClockSwitch(): void {
  const group = document.querySelector<HTMLElement>('#clock')
  if (!group || isReaderInUtc()) return
  const buttons = [...group.querySelectorAll<HTMLButtonElement>('button')]
  const press = () => {
    for (const button of buttons) {
      button.setAttribute('aria-pressed', String(button.value === shownClock))
    }
  }
  for (const button of buttons) {
    if (button.value === 'local') button.title = localZone
    button.addEventListener('click', () => {
      shownClock = clocks.find((each) => each === button.value) ?? 'local'
      storeClock(shownClock)
      press()
      showLocalTimes(document)
    })
  }
  press()
  group.hidden = false
}
