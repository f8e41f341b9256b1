import { db } from "./db";

export interface Item { id: number; }

/** Sells things. */
export class Shop {
  private items: Item[] = [];

  sell(item: Item): boolean {
    if (item) {
      return true;
    }
    return false;
  }
}

export const open = async () => {
  await db();
};
