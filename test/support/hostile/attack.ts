/** One attack of a hostile model through whole sessions. */
export interface Attack {
  readonly name: string
  /** Rejects when the attack had success, or when the session did not continue after it. */
  run(): Promise<void>
}
