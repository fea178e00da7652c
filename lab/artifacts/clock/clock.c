/*
 * The clock of a virtual machine of user-mode Linux, for LD_PRELOAD. While the machine
 * computes, its clock is SLOWNESS times slower than the clock of its host; while it only
 * waits, both are equally fast. So a machine that computes slowly does not notice it, and
 * the time limits in it are as right as on a fast machine.
 *
 * It needs no headers: the types are those of 64-bit Linux.
 */
struct timespec { long sec, nsec; };
struct itimerspec { struct timespec interval, value; };

extern void *dlsym(void *, const char *);
extern char *getenv(const char *);
extern int atoi(const char *);

static int (*host_gettime)(int, struct timespec *);
static int (*host_settime)(void *, int, const struct itimerspec *, struct itimerspec *);
static int (*host_suspend)(const void *);

enum { MONOTONIC = 1 };
static const long second = 1000000000;

/*
 * The clock of the machine was at guest when that of the host was at host. A signal may
 * interrupt a change of it, so the other period is filled in and then made the current one.
 */
static struct period { long host, guest, slowness; } periods[2];
static struct period *volatile current;
static long slowness;

static void *timer; /* the machine has only one */
static long due;    /* when it expires, by the machine's clock, or 0 */

static long host_now(void)
{
	struct timespec t;

	host_gettime(MONOTONIC, &t);
	return t.sec * second + t.nsec;
}

static long guest_at(struct period *p, long host)
{
	return p->guest + (host - p->host) / p->slowness;
}

static void start_period(long slowness)
{
	struct period *last = current, *next = last == periods ? periods + 1 : periods;

	next->host = host_now();
	next->guest = guest_at(last, next->host);
	next->slowness = slowness;
	current = next;
}

static void set_up(void)
{
	void *next = (void *)-1; /* RTLD_NEXT */

	host_settime = dlsym(next, "timer_settime");
	host_suspend = dlsym(next, "sigsuspend");
	host_gettime = dlsym(next, "clock_gettime");
	slowness = getenv("SLOWNESS") ? atoi(getenv("SLOWNESS")) : 1;
	periods[0].host = periods[0].guest = host_now();
	periods[0].slowness = slowness;
	current = periods;
}

static void arm(long interval, long value)
{
	struct itimerspec t;

	t.interval.sec = interval / second, t.interval.nsec = interval % second;
	t.value.sec = value / second, t.value.nsec = value % second;
	host_settime(timer, 0, &t, 0);
}

/* The machine reads its clock when it computes. */
int clock_gettime(int clock, struct timespec *t)
{
	long now;

	if (!current)
		set_up();
	if (clock != MONOTONIC)
		return host_gettime(clock, t);
	if (current->slowness != slowness)
		start_period(slowness);
	now = guest_at(current, host_now());
	t->sec = now / second, t->nsec = now % second;
	return 0;
}

/* The machine sets its timer, by its own clock and from now on. */
int timer_settime(void *id, int flags, const struct itimerspec *t, struct itimerspec *old)
{
	long interval = t->interval.sec * second + t->interval.nsec;
	long value = t->value.sec * second + t->value.nsec;

	if (!current)
		set_up();
	timer = id;
	due = value && !interval ? guest_at(current, host_now()) + value : 0;
	arm(interval * slowness, value * slowness);
	return 0;
}

/* The machine waits for a signal when it has nothing to do. */
int sigsuspend(const void *mask)
{
	long left;
	int result;

	start_period(1);
	if (due) {
		left = due - current->guest;
		arm(0, left > 0 ? left : 1);
	}
	result = host_suspend(mask);
	if (current->slowness != slowness)
		start_period(slowness);
	return result;
}
