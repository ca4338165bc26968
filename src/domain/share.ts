/** Formats a share, such as `46.7%`. Only the whole is `100%`, and only nothing is `0%`. */
export function formatShare(part: number, whole: number): string {
  if (part === 0 || part === whole) return part === 0 ? '0%' : '100%'
  const percent = (100 * part) / whole
  return `${Math.min(99.9, Math.max(0.1, percent)).toFixed(1)}%`
}
