const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/**
 * Adds the reader's local time to each instant, which the server renders in UTC; nothing for
 * readers in UTC.
 */
export function showLocalTimes(root: ParentNode): void {
  for (const time of root.querySelectorAll<HTMLTimeElement>('time[datetime*="T"]')) {
    const at = new Date(time.dateTime)
    const isUtc = at.getTimezoneOffset() === 0
    if (isUtc || Number.isNaN(at.getTime()) || time.querySelector('.local')) continue
    const own = document.createElement('span')
    own.className = 'local'
    own.textContent = local.format(at)
    time.append(own)
  }
}
