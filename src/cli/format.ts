/** Formats a time span: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`, `3 d`. */
export function elapsedText(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  const hours = Math.floor(whole / 3600)
  if (hours < 48) return `${hours} h ${Math.floor((whole % 3600) / 60)} min`
  return `${Math.floor(hours / 24)} d`
}

/** Formats how long ago something was, in one unit: `now`, `5 min ago`, `3 h ago`, `12 d ago`. */
export function agoText(ms: number): string {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 1) return 'now'
  if (minutes < 60) return `${minutes} min ago`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} d ago`
}
