import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'

const notAllowed = '42501'
const patienceMs = 20_000

/**
 * Drops a database and ends the connections to it. The server's own clean-up may be running there, which only a superuser
 * may end: it is done in a moment. Rejects with the server's error when that lasts over 20 s.
 */
export async function dropDatabase(admin: Client, name: string): Promise<void> {
  const deadline = performance.now() + patienceMs
  while (!(await isDropped(admin, name, performance.now() > deadline))) await sleep(20)
}

async function isDropped(admin: Client, name: string, isLast: boolean): Promise<boolean> {
  try {
    await admin.query(`drop database if exists ${name} with (force)`)
    return true
  } catch (error) {
    if (isLast || (error as { code?: unknown }).code !== notAllowed) throw error
    return false
  }
}
