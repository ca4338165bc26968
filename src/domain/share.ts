/** Formats a share, such as `46.7%`: never 100% or 0% of what is not all or none. */
export function formatShare(part: number, whole: number): string {
  if (part === 0 || part === whole) return part === 0 ? '0%' : '100%'
  const percent = (100 * part) / whole
  return `${Math.min(99.9, Math.max(0.1, percent)).toFixed(1)}%`
}
