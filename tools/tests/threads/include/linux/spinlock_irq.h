/* SPDX-License-Identifier: MIT */
/*
 * Spin locks that turn interrupts off, made of ones that do not: spinlock.h includes it
 */
#ifndef _DRIVER_LINUX_SPINLOCK_IRQ_H
#define _DRIVER_LINUX_SPINLOCK_IRQ_H

/* The end of this one turns interrupts on, whatever they were before. */
static inline void spin_lock_irq(spinlock_t *lock)
{
	if (current->in_irq || current->irqs_off)
		broken("interrupts are turned off twice, and on once");
	current->irqs_off = true;
	spin_lock(lock);
}

static inline void spin_unlock_irq(spinlock_t *lock)
{
	spin_unlock(lock);
	current->irqs_off = false;
}

#define spin_lock_irqsave(lock, flags)		({ (flags) = 0; spin_lock(lock); })
#define spin_unlock_irqrestore(lock, flags)	({ (void)(flags); spin_unlock(lock); })

#endif /* _DRIVER_LINUX_SPINLOCK_IRQ_H */
